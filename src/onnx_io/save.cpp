// SPDX-License-Identifier: MIT
#include "onnx_io/save.h"

#include <unistd.h>

#include <climits>
#include <filesystem>

#include "base/file_system.h"
#include "onnx_io/model_writer.h"

namespace quarkq::onnx_io {
namespace {

namespace fs = std::filesystem;

constexpr auto kLimit = static_cast<uint64_t>(INT_MAX);  // protobuf's for one message

class FileSink : public ByteSink {
 public:
  explicit FileSink(AtomicFile& file) : file_(file) {}
  Status write(const void* data, size_t bytes) override { return file_.write(data, bytes); }

 private:
  AtomicFile& file_;
};

class StringSink : public ByteSink {
 public:
  Status write(const void* data, size_t bytes) override {
    text.append(static_cast<const char*>(data), bytes);
    return Status();
  }
  std::string text;
};

/// Moves a file that is about to be replaced aside; puts it back unless keep_new() was called.
class Replaced {
 public:
  explicit Replaced(std::string path) : path_(std::move(path)), aside_(cat(path_, ".old", ::getpid())) {
    std::error_code error;
    if (!fs::exists(fs::symlink_status(path_, error))) return;
    fs::rename(path_, aside_, error);
    moved_ = !error;
  }
  ~Replaced() {
    std::error_code error;
    if (kept_) {
      if (moved_) fs::remove(aside_, error);
      return;
    }
    fs::remove(path_, error);
    if (moved_) fs::rename(aside_, path_, error);
  }
  Replaced(const Replaced&) = delete;
  Replaced& operator=(const Replaced&) = delete;
  void keep_new() { kept_ = true; }

 private:
  std::string path_, aside_;
  bool moved_ = false;
  bool kept_ = false;
};

std::string data_path(const std::string& path) { return path + ".data"; }

struct Plan {
  WeightLayout layout;
  SaveReport report;
};

Result<Plan> make_plan(const ir::Model& model, const std::string& path, const SaveOptions& options) {
  Plan plan;
  const std::string location = fs::path(data_path(path)).filename().string();
  if (options.external_data) plan.layout = external_layout(model, location, options.external_threshold);
  plan.report.model_bytes = model_bytes(model, plan.layout);
  if (plan.report.model_bytes > kLimit && !options.external_data) {
    plan.layout = external_layout(model, location, options.external_threshold);
    plan.report.model_bytes = model_bytes(model, plan.layout);
  }
  if (plan.report.model_bytes > kLimit) {
    return resource_error(path, ": the model without its external weights takes ", plan.report.model_bytes,
                          " bytes, at most ", kLimit, " can be written");
  }
  plan.report.data_bytes = plan.layout.data_bytes;
  plan.report.external_data = plan.layout.data_bytes > 0;
  return plan;
}

Status check_target(const ir::Model& model, const std::string& path) {
  if (path.empty()) return invalid_argument("no output path");
  if (is_folder(path)) return invalid_argument(path, ": is a folder, cannot be written as a model");
  if (model.path.empty()) return Status();
  std::error_code error;
  for (const std::string& target : {path, data_path(path)}) {
    if (fs::equivalent(target, model.path, error)) {
      return invalid_argument(target, ": is the input model, which is never overwritten");
    }
  }
  return Status();
}

}  // namespace

Result<SaveReport> plan_save(const ir::Model& model, const std::string& path, const SaveOptions& options) {
  QQ_TRY(const Plan plan, make_plan(model, path, options));
  return plan.report;
}

Result<SaveReport> save(const ir::Model& model, const std::string& path, const SaveOptions& options) {
  QQ_RETURN_IF_ERROR(check_target(model, path));
  QQ_TRY(const Plan plan, make_plan(model, path, options));
  if (plan.report.external_data && is_folder(data_path(path))) {
    return invalid_argument(data_path(path), ": is a folder, cannot be written as a data file");
  }
  QQ_TRY(AtomicFile file, AtomicFile::create(path));
  FileSink sink(file);
  if (!plan.report.external_data) {
    QQ_RETURN_IF_ERROR(write_model(model, plan.layout, sink));
    QQ_RETURN_IF_ERROR(file.commit());
    return plan.report;
  }
  QQ_TRY(AtomicFile data, AtomicFile::create(data_path(path)));
  FileSink data_sink(data);
  QQ_RETURN_IF_ERROR(write_data(model, plan.layout, data_sink));
  QQ_RETURN_IF_ERROR(write_model(model, plan.layout, sink));
  Replaced replaced(data_path(path));
  QQ_RETURN_IF_ERROR(data.commit());
  QQ_RETURN_IF_ERROR(file.commit());
  replaced.keep_new();
  return plan.report;
}

std::string to_bytes(const ir::Model& model) {
  StringSink sink;
  const WeightLayout layout = inline_layout();
  sink.text.reserve(model_bytes(model, layout));
  const Status status = write_model(model, layout, sink);
  QQ_CHECK(status.ok());
  return std::move(sink.text);
}

}  // namespace quarkq::onnx_io

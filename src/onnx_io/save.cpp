// SPDX-License-Identifier: MIT
#include "onnx_io/save.h"

#include <climits>
#include <filesystem>

#include "base/file_system.h"
#include "base/run_files.h"
#include "onnx_io/data_place.h"
#include "onnx_io/model_writer.h"

namespace quarkq::onnx_io {
namespace {

namespace fs = std::filesystem;

constexpr auto kLimit = static_cast<uint64_t>(INT_MAX);  // protobuf's for one message
constexpr int64_t kLeastLeftOut = 1 << 16;  // smaller weights may be shapes and axes, which readers look into at once

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

/// Removes a file unless keep() was called.
class Removed {
 public:
  explicit Removed(std::string path) : path_(std::move(path)) {}
  ~Removed() {
    std::error_code error;
    if (!path_.empty()) fs::remove(path_, error);
  }
  Removed(const Removed&) = delete;
  Removed& operator=(const Removed&) = delete;
  void keep() { path_.clear(); }

 private:
  std::string path_;
};

struct Plan {
  WeightLayout layout;
  SaveReport report;
  DataPlace place;
};

Result<Plan> make_plan(const ir::Model& model, const std::string& path, const SaveOptions& options) {
  Plan plan;
  if (!options.external_data) plan.report.model_bytes = model_bytes(model, plan.layout);
  if (options.external_data || plan.report.model_bytes > kLimit) {
    QQ_TRY(plan.place, choose_data_place(path, model.path));
    plan.layout = external_layout(model, plan.place.location, options.external_threshold);
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
  RunFiles files;
  QQ_RETURN_IF_ERROR(files.add_input(model.path));
  return files.add_output(path);
}

/// The model file at `path`, whose weights are at `location`.
Result<AtomicFile> write_model_file(const ir::Model& model, WeightLayout layout, const std::string& location,
                                    const std::string& path) {
  layout.location = location;
  QQ_TRY(AtomicFile file, AtomicFile::create(path));
  FileSink sink(file);
  QQ_RETURN_IF_ERROR(write_model(model, layout, sink));
  return file;
}

Result<AtomicFile> write_data_file(const ir::Model& model, const WeightLayout& layout, const std::string& path) {
  QQ_TRY(AtomicFile file, AtomicFile::create(path));
  FileSink sink(file);
  QQ_RETURN_IF_ERROR(write_data(model, layout, sink));
  return file;
}

/// The model that replace_both() renames last.
std::string last_of(const std::string& path) { return path + ".quarkq-new"; }

/// Nothing at `path` reads the data file, so it may come first.
Status save_both(const ir::Model& model, const Plan& plan, const std::string& path) {
  const std::string data_path = beside(path, plan.place.location);
  QQ_TRY(AtomicFile file, write_model_file(model, plan.layout, plan.place.location, path));
  QQ_TRY(AtomicFile data, write_data_file(model, plan.layout, data_path));
  QQ_RETURN_IF_ERROR(data.commit());
  Removed half(data_path);
  QQ_RETURN_IF_ERROR(file.commit());
  half.keep();
  if (plan.place.stale) const Removed stale(beside(path, *plan.place.stale)), last(last_of(path));
  return Status();
}

/// Gives the data at `from` the name `to` as well; the file that has it loses it in the same moment.
bool link_over(const std::string& from, const std::string& to) {
  std::error_code error;
  const std::string linked = cat(to, ".link-", process_token());
  fs::create_hard_link(from, linked, error);
  if (!error) fs::rename(linked, to, error);
  if (error) const Removed half(linked);
  return !error;
}

/// The model at `path` reads the data file that is to be replaced. At every moment `path` is the old model or the new
/// one with all of its data: the new model reads its data under a second name until they have their own.
Status replace_both(const ir::Model& model, const Plan& plan, const std::string& path) {
  const std::string passing = beside(path, *plan.place.passing), last_path = last_of(path);
  QQ_TRY(AtomicFile first, write_model_file(model, plan.layout, *plan.place.passing, path));
  QQ_TRY(AtomicFile last, write_model_file(model, plan.layout, plan.place.location, last_path));
  QQ_TRY(AtomicFile data, write_data_file(model, plan.layout, passing));
  QQ_RETURN_IF_ERROR(data.commit());
  Removed half(passing);
  QQ_RETURN_IF_ERROR(last.commit());
  Removed renamed(last_path);
  QQ_RETURN_IF_ERROR(first.commit());
  std::error_code error;
  // Where there are no hard links the new model keeps reading its data under the second name.
  const bool is_linked = link_over(passing, beside(path, plan.place.location));
  if (is_linked) fs::rename(last_path, path, error);
  if (!is_linked || error) half.keep();
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
  if (plan.report.external_data) {
    QQ_RETURN_IF_ERROR(plan.place.passing ? replace_both(model, plan, path) : save_both(model, plan, path));
    return plan.report;
  }
  QQ_TRY(AtomicFile file, write_model_file(model, plan.layout, "", path));
  QQ_RETURN_IF_ERROR(file.commit());
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

Result<Unweighted> to_bytes_without_weights(const ir::Model& model) {
  const WeightLayout layout = external_layout(model, "weights", kLeastLeftOut);
  const uint64_t bytes = model_bytes(model, layout);
  if (bytes > kLimit) {
    return resource_error(model.path, ": the model without its large initializers takes ", bytes, " bytes, at most ",
                          kLimit, " can be handed on");
  }
  StringSink sink;
  sink.text.reserve(bytes);
  QQ_RETURN_IF_ERROR(write_model(model, layout, sink));
  Unweighted unweighted{std::move(sink.text), {}};
  for (const ir::ValueId id : model.graph.initializers()) {
    if (layout.offset(id) >= 0) unweighted.weights.push_back(id);
  }
  return unweighted;
}

}  // namespace quarkq::onnx_io

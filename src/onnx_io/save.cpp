// SPDX-License-Identifier: MIT
#include "onnx_io/save.h"

#include <climits>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/file_system.h"
#include "base/paths.h"
#include "base/run_files.h"
#include "onnx_io/export_model.h"
#include "onnx_io/proto.h"

namespace quarkq::onnx_io {

namespace {

// Location of the data file of a written model. Two files cannot be replaced at once, so a replaced model first gets
// its new data under a second name, and every intermediate file is a complete model. Private to src/onnx_io.

/// Names of data files in the folder of the model.
struct DataPlace {
  std::string location;                ///< where the data ends up: "<file name>.data" unless another model's is there
  std::optional<std::string> passing;  ///< The existing model reads `location`: temporary location of the data.
  std::optional<std::string> stale;    ///< Read by the existing model, and not by the new one.
};

/// The model file at a path as bytes, which contain the names of data files unchanged.
class OldModel {
 public:
  explicit OldModel(const std::string& path) {
    if (file_exists(path)) file_ = MappedFile::open(path);
  }
  bool reads(const std::string& location) const {
    if (!file_.ok() || file_.value() == nullptr) return false;
    const MappedFile& file = *file_.value();
    const std::string_view bytes(reinterpret_cast<const char*>(file.data()), file.size());
    const bool is_short = location.size() < 128;  // the length before the name is one byte
    for (size_t at = bytes.find(location); at != std::string_view::npos; at = bytes.find(location, at + 1)) {
      // Names of two files may end in the same letters; their lengths tell them apart.
      if (!is_short || (at > 0 && static_cast<unsigned char>(bytes[at - 1]) == location.size())) return true;
    }
    return false;
  }

 private:
  Result<std::shared_ptr<const MappedFile>> file_ = std::shared_ptr<const MappedFile>();
};

bool is_same_folder(const std::string& a, const std::string& b) {
  return !b.empty() && paths::is_same(paths::folder_or_here(a), paths::folder_or_here(b));
}

/// `name` in the folder of `path`.
std::string beside(const std::string& path, const std::string& name) {
  return paths::joined(paths::folder_of(path), name);
}

/// For a model at `path`. A file that the model there does not read may be another model's and is left alone: the next
/// free of "<file name>.1.data", "<file name>.2.data", ... is taken then. What the model at `input` reads, from which
/// `path` is made, is left alone, too; "" when there is none. Fails when "<file name>.data" is a folder.
Result<DataPlace> choose_data_place(const std::string& path, const std::string& input) {
  const std::string stem = paths::name_of(path);
  const OldModel old(path), read_now(is_same_folder(path, input) ? input : "");
  for (int number = 0;; ++number) {
    const std::string base = number == 0 ? stem : cat(stem, ".", number);
    const std::string location = base + ".data", passing = base + ".quarkq-new.data";
    const std::string file = beside(path, location);
    if (number == 0 && is_folder(file))
      return invalid_argument(file, ": is a folder, cannot be written as a data file");
    if (read_now.reads(location) || read_now.reads(passing)) continue;
    if (old.reads(location)) return DataPlace{location, passing, {}};
    // A run that was killed while it replaced this model leaves it reading the second name.
    if (old.reads(passing)) return DataPlace{location, {}, passing};
    if (!paths::is_taken(file)) return DataPlace{location, {}, {}};
  }
}

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
    if (!path_.empty()) paths::remove(path_);
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
    return resource_error(path, ": the model without its external weights needs ", plan.report.model_bytes,
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

/// No file at `path` reads the data file, so it may be written first.
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
  const std::string linked = cat(to, ".link-", process_token());
  const bool is_linked = platform::link_file(from, linked) && platform::replace_file(linked, to);
  if (!is_linked) const Removed half(linked);
  return is_linked;
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
  // Where there are no hard links the new model keeps reading its data under the second name.
  const bool is_linked = link_over(passing, beside(path, plan.place.location));
  if (!is_linked || !platform::replace_file(last_path, path)) half.keep();
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
    return resource_error(model.path, ": the model without its large initializers needs ", bytes, " bytes, at most ",
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

namespace {

onnx::StringStringEntryProto& entry_of(onnx::ModelProto& proto, const std::string& key) {
  for (onnx::StringStringEntryProto& entry : *proto.mutable_metadata_props()) {
    if (entry.key() == key) return entry;
  }
  onnx::StringStringEntryProto& added = *proto.add_metadata_props();
  added.set_key(key);
  return added;
}

}  // namespace

void set_metadata(ir::Model& model, const std::vector<std::pair<std::string, std::string>>& pairs) {
  onnx::ModelProto proto;
  merge_rest(model.extra, proto);
  for (const auto& [key, value] : pairs) entry_of(proto, key).set_value(value);
  model.extra = proto.SerializeAsString();
}

std::string metadata_of(const ir::Model& model, const std::string& key) {
  onnx::ModelProto proto;
  merge_rest(model.extra, proto);
  for (const onnx::StringStringEntryProto& entry : proto.metadata_props())
    if (entry.key() == key) return entry.value();
  return "";
}

void remove_metadata(ir::Model& model, const std::vector<std::string>& keys) {
  onnx::ModelProto proto;
  merge_rest(model.extra, proto);
  auto& entries = *proto.mutable_metadata_props();
  for (int i = entries.size(); i-- > 0;)
    if (std::ranges::find(keys, entries[i].key()) != keys.end()) entries.DeleteSubrange(i, 1);
  model.extra = proto.SerializeAsString();
}

}  // namespace quarkq::onnx_io

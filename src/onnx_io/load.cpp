// SPDX-License-Identifier: MIT
#include "onnx_io/load.h"

#include <algorithm>
#include <climits>
#include <filesystem>

#include "base/file_system.h"
#include "base/run_files.h"
#include "ir/check_attributes.h"
#include "onnx_io/correct_shapes.h"
#include "onnx_io/count_messages.h"
#include "onnx_io/diagnose.h"
#include "onnx_io/model_proto.h"

namespace quarkq::onnx_io {
namespace {

Status check_path(const std::string& path) {
  std::error_code error;
  const auto kind = std::filesystem::status(path, error).type();
  if (kind == std::filesystem::file_type::not_found) return invalid_argument(path, ": no such file");
  if (error) return invalid_argument(path, ": cannot open, ", error.message());
  if (kind == std::filesystem::file_type::directory) return invalid_argument(path, ": is a folder, not a model file");
  if (kind != std::filesystem::file_type::regular) return invalid_argument(path, ": not a regular file");
  return Status();
}

Result<ir::Model> load_from(std::string_view bytes, const std::string& path, const ImportContext& context) {
  if (bytes.empty()) return corrupt_model(path, ": the file is empty");
  if (bytes.size() > static_cast<size_t>(INT_MAX)) {
    return unsupported(path, ": ", bytes.size(), " bytes, a model file may have at most ", INT_MAX,
                       "; store the weights as external data");
  }
  QQ_RETURN_IF_ERROR(check_counts(bytes).context(path));
  onnx::ModelProto proto;
  if (!parse_proto(bytes.data(), bytes.size(), proto)) return corrupt_model(path, ": ", describe_damage(bytes));
  Result<ir::Model> model = import_model(proto, context);
  // Plain text can look like a message of unknown fields, so what the file is comes before what the message lacks.
  if (!model.ok() && !proto.has_ir_version() && !proto.has_graph()) {
    return corrupt_model(path, ": ", describe_damage(bytes));
  }
  if (model.ok()) {
    QQ_RETURN_IF_ERROR(ir::check_attributes(model.value().graph, model.value().opsets).context(path));
    correct_shapes(model.value(), context.findings);
  }
  return std::move(model).context(path);
}

}  // namespace

Result<ir::Model> load(const std::string& path, LoadReport* report) {
  QQ_RETURN_IF_ERROR(check_path(path));
  const auto file = MappedFile::open(path);
  if (!file.ok()) return invalid_argument(file.status().message());
  const MappedFile& mapped = *file.value();
  ExternalFiles external(path);
  LoadReport ignored;
  LoadReport& told = report == nullptr ? ignored : *report;
  const std::string_view bytes(reinterpret_cast<const char*>(mapped.data()), mapped.size());
  QQ_TRY(ir::Model model, load_from(bytes, path, {external, told.findings}));
  model.path = path;
  const std::vector<std::string> files = external.files();
  for (const std::string& data : files) QQ_RETURN_IF_ERROR(note_input(data));
  told.external_files = files;
  told.external_bytes = external.bytes();
  return model;
}

Result<ir::Model> load_bytes(std::string_view bytes, const std::string& path_for_messages, LoadReport* report) {
  ExternalFiles external("");
  LoadReport ignored;
  return load_from(bytes, path_for_messages, {external, (report == nullptr ? ignored : *report).findings});
}

}  // namespace quarkq::onnx_io

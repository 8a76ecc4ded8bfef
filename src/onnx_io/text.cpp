// SPDX-License-Identifier: MIT
#include "onnx_io/text.h"

#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/text_format.h>
#include <algorithm>
#include <array>
#include <climits>

#include "base/file_system.h"
#include "onnx_io/export_model.h"
#include "onnx_io/library.h"
#include "onnx_io/load.h"
#include "onnx_io/model_proto.h"
#include "onnx_io/save.h"

namespace quarkq::onnx_io {

Result<ir::Model> parse_model_text(const std::string& text) {
  QQ_TRY(onnx::ModelProto proto, library_parse(text));
  return import_own_model(proto);
}

std::string model_text(const ir::Model& model) { return library_print(whole_model(model)); }

// Models in protobuf's text format.

namespace {

constexpr auto kMostBytes = static_cast<size_t>(INT_MAX);  // Upper bound on one message.
constexpr int kMostLevels = 3 * kMaxGraphDepth + 100;      // Equal to the bound for binary models.

/// Keeps the first error instead of printing it.
class FirstError : public google::protobuf::io::ErrorCollector {
 public:
  void AddError(int line, int column, const std::string& message) override {
    if (text.empty()) text = cat("line ", line + 1, ", column ", column + 1, ": ", message);
  }
  void AddWarning(int, int, const std::string&) override {}
  std::string text;
};

}  // namespace

bool is_text_path(const std::string& path) {
  constexpr std::array<std::string_view, 4> kSuffixes = {".onnxtxt", ".pbtxt", ".txtpb", ".textproto"};
  return std::ranges::any_of(kSuffixes, [&](std::string_view suffix) { return path.ends_with(suffix); });
}

Result<ir::Model> load_text(const std::string& path, LoadReport* report) {
  if (!file_exists(path)) return invalid_argument(path, ": no such file");
  QQ_TRY(const std::string text, read_text_file(path, kMostBytes));
  google::protobuf::TextFormat::Parser parser;
  FirstError error;
  parser.RecordErrorsTo(&error);
  parser.SetRecursionLimit(kMostLevels);
  onnx::ModelProto proto;
  if (!parser.ParseFromString(text, &proto)) return corrupt_model(path, ": not a model in text format, ", error.text);
  if (proto.ByteSizeLong() > kMostBytes) return unsupported(path, ": the model takes more than ", kMostBytes, " bytes");
  // The same checks apply as to bytes from elsewhere.
  QQ_TRY(ir::Model model, load_bytes(proto.SerializeAsString(), path, report));
  model.path = path;
  return model;
}

Result<std::string> model_as_text(const ir::Model& model) {
  QQ_TRY(const SaveReport size, plan_save(model, "model"));
  if (size.external_data) return resource_error("the model takes more than ", kMostBytes, " bytes, it cannot be text");
  std::string text;
  google::protobuf::TextFormat::Printer printer;
  if (!printer.PrintToString(whole_model(model), &text) || text.size() > kMostBytes)
    return resource_error("the model takes more than ", kMostBytes, " bytes as text, store it as a binary model");
  return text;
}

}  // namespace quarkq::onnx_io

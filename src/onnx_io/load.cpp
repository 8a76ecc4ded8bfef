// SPDX-License-Identifier: MIT
#include "onnx_io/load.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "base/file_system.h"
#include "base/run_files.h"
#include "base/strings.h"
#include "ir/check_graph.h"
#include "onnx_io/check_model.h"
#include "onnx_io/count_messages.h"
#include "onnx_io/model_proto.h"

namespace quarkq::onnx_io {
namespace {

// Identifies a file that is not an ONNX model. Private to src/onnx_io.

struct Signature {
  size_t offset;
  std::string_view bytes;
  std::string_view what;
};

using namespace std::string_view_literals;

/// First bytes of files that people mistake for models.
constexpr std::array<Signature, 10> kSignatures = {{
    {0, "PK\x03\x04"sv, "a zip archive (also PyTorch and Keras models are)"},
    {0, "PK\x05\x06"sv, "an empty zip archive"},
    {0, "\x1f\x8b"sv, "a gzip file; unpack it first"},
    {0, "BZh"sv, "a bzip2 file; unpack it first"},
    {0,
     "\xfd"
     "7zXZ"sv,
     "an xz file; unpack it first"},
    {0, "\x89HDF\r\n"sv, "an HDF5 file"},
    {0, "\x93NUMPY"sv, "a numpy array"},
    {4, "TFL3"sv, "a TensorFlow Lite model"},
    {4, "ORTM"sv, "a model in ONNX Runtime's own format"},
    {0, "version https://git-lfs"sv, "a Git LFS pointer; fetch the real file with 'git lfs pull'"},
}};

bool is_text(std::string_view bytes) {
  const std::string_view head = bytes.substr(0, 4096);
  return std::all_of(head.begin(), head.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte >= 0x20 || byte == '\n' || byte == '\r' || byte == '\t';
  });
}

bool read_varint(std::string_view bytes, size_t& at, uint64_t& value) {
  value = 0;
  for (int shift = 0; shift < 64 && at < bytes.size(); shift += 7) {
    const auto byte = static_cast<unsigned char>(bytes[at++]);
    value |= static_cast<uint64_t>(byte & 0x7F) << shift;
    if (byte < 0x80) return true;
  }
  return false;
}

/// Walks the outermost fields: a length that leads past the end is what a cut file looks like.
std::string first_damage(std::string_view bytes) {
  size_t at = 0;
  while (at < bytes.size()) {
    const size_t begin = at;
    uint64_t tag = 0, number = 0;
    if (!read_varint(bytes, at, tag)) return cat("truncated or damaged at byte ", begin);
    size_t length = 0;
    switch (tag & 7) {
      case 0:
        if (!read_varint(bytes, at, number)) return cat("truncated or damaged at byte ", begin);
        break;
      case 1: length = 8; break;
      case 5: length = 4; break;
      case 2:
        if (!read_varint(bytes, at, number)) return cat("truncated or damaged at byte ", begin);
        if (number > bytes.size() - at) {
          return cat("truncated or damaged: field ", tag >> 3, " at byte ", begin, " claims ", number, " bytes, only ",
                     bytes.size() - at, " are there");
        }
        length = static_cast<size_t>(number);
        break;
      default: return cat("damaged at byte ", begin, ": no protobuf field starts so");
    }
    if (length > bytes.size() - at) return cat("truncated at byte ", bytes.size());
    at += length;
  }
  return "damaged: a field inside is malformed or nested too deeply, or this is another kind of protobuf file";
}

/// The cause, for a message, why `bytes` do not parse as a ModelProto. REQUIRES: not empty.
std::string describe_damage(std::string_view bytes) {
  for (const Signature& signature : kSignatures) {
    if (bytes.substr(std::min(signature.offset, bytes.size())).starts_with(signature.bytes)) {
      return cat("not an ONNX model but ", signature.what);
    }
  }
  if (is_text(bytes)) {
    const size_t start = bytes.find_first_not_of(" \t\r\n");
    const bool onnx_text = start != std::string_view::npos && bytes[start] == '<' &&
                           bytes.substr(start, 256).find("ir_version") != std::string_view::npos;
    return onnx_text ? "ONNX text syntax, must be a binary ONNX model" : "a text file, not an ONNX model";
  }
  return cat("not an ONNX model, or ", first_damage(bytes));
}

Status check_path(const std::string& path) {
  const std::optional<platform::FileInfo> found = platform::describe(path);
  if (!found && (errno == ENOENT || errno == ENOTDIR)) return invalid_argument(path, ": no such file");
  if (!found) return invalid_argument(path, ": cannot open, ", std::strerror(errno));
  if (found->kind == platform::FileKind::kFolder) return invalid_argument(path, ": is a folder, not a model file");
  if (found->kind != platform::FileKind::kFile) return invalid_argument(path, ": not a regular file");
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

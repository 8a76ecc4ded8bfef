// SPDX-License-Identifier: MIT
#include "calib/reader/file_formats.h"

#include <algorithm>
#include <filesystem>

#include "base/suggest.h"
#include "calib/image/decode_image.h"
#include "calib/image/read_image.h"
#include "calib/npy.h"
#include "calib/sample_name.h"
#include "onnx_io/operand_file.h"

namespace quarkq::calib {
namespace {

bool has_suffix(std::string_view file_name, const FileFormat& format) {
  const std::string text = format.ignores_case ? lower_case(file_name) : std::string(file_name);
  return std::any_of(format.suffixes.begin(), format.suffixes.end(),
                     [&](const std::string& suffix) { return text.size() > suffix.size() && text.ends_with(suffix); });
}

}  // namespace

const std::vector<FileFormat>& file_formats() {
  // .npy is case-sensitive as in the reference (ref:samples#folders-of-arrays).
  static const std::vector<FileFormat> table = {
      {"npy", {".npy"}, false, false, read_npy_file, check_npy_file},
      {"npz", {".npz"}, true, true, read_npz_file},
      {"pb", {".pb"}, true, false, read_operand_file},
      {"raw", {".bin", ".raw", ".data"}, true, false, read_raw_file},
      {"image",
       {".jpg", ".jpeg", ".png", ".bmp"},
       true,
       false,
       read_image_file,
       check_image_file,
       /*reads_all_to_check=*/true},
  };
  return table;
}

const FileFormat* format_of(std::string_view file_name, const std::string& kind) {
  for (const FileFormat& format : file_formats()) {
    if ((kind.empty() || kind == format.kind) && has_suffix(file_name, format)) return &format;
  }
  return nullptr;
}

bool is_sample_name(const std::string& file_name) { return format_of(file_name, "") != nullptr; }

Status check_kind(const std::string& kind) {
  std::vector<std::string> kinds;
  for (const FileFormat& format : file_formats()) kinds.emplace_back(format.kind);
  if (kind.empty() || std::find(kinds.begin(), kinds.end(), kind) != kinds.end()) return Status();
  return invalid_argument("calibration.reader: found ", kind, did_you_mean(kind, kinds), ", allowed is ",
                          join(kinds, ", "));
}

std::string suffixes_text(const std::string& kind) {
  std::vector<std::string> all;
  for (const FileFormat& format : file_formats()) {
    if (kind.empty() || kind == format.kind) all.insert(all.end(), format.suffixes.begin(), format.suffixes.end());
  }
  return join(all, ", ");
}

std::string stem_of(const std::string& file_name) { return std::filesystem::path(file_name).stem().string(); }

std::string file_spelling(std::string input) {
  std::replace(input.begin(), input.end(), '/', '_');
  std::replace(input.begin(), input.end(), ':', '_');
  return input;
}

std::vector<std::string> spellings_of(const InputSpec& input) {
  std::string spelling = file_spelling(input.name);
  if (input.is_ambiguous || spelling == input.name) return {input.name};
  return {input.name, std::move(spelling)};
}

Status check_array(const FileRequest& request, ElementType type, const ir::Shape& dims) {
  InputSpec fitted = request.input;
  fitted.has_shape = fitted.has_shape && request.is_one_sample;
  return check_fit(type, dims, fitted, request.path);
}

Status check_npy_file(const FileRequest& request) {
  QQ_TRY(const NpyHeader header, read_npy_header(request.bytes.data, request.bytes.size, request.path));
  return check_array(request, header.type, header.dims);
}

Status check_image_file(const FileRequest& request) {
  return check_image(request.bytes.data, request.bytes.size, request.path);
}

Result<ir::Tensor> read_npy_file(const FileRequest& request) {
  QQ_RETURN_IF_ERROR(check_npy_file(request));
  return parse_npy(request.bytes.data, request.bytes.size, request.path);
}

Result<ir::Tensor> read_image_file(const FileRequest& request) {
  const ImageFile file{request.path, request.bytes.data, request.bytes.size};
  return read_image(file, request.options.preprocess.value_or(config::Preprocess()), request.input);
}

Result<ir::Tensor> read_operand_file(const FileRequest& request) {
  ir::ValueType type;
  type.element = request.input.type;
  Result<ir::Operand> operand = onnx_io::parse_operand({request.bytes.data, request.bytes.size}, request.path, type);
  if (!operand.ok()) return bad_data(operand.status().message());
  return std::move(operand).value().tensor;
}

}  // namespace quarkq::calib

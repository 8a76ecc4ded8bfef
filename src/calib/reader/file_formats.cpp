// SPDX-License-Identifier: MIT
#include "calib/reader/file_formats.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>

#include "base/paths.h"
#include "base/strings.h"
#include "calib/data_reader.h"
#include "calib/image/decode_image.h"
#include "calib/image/read_image.h"
#include "calib/npy.h"
#include "calib/reader/archives.h"
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

std::string stem_of(const std::string& file_name) { return paths::stem_of(file_name); }

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

// Raw binary files: nothing but values, so their size must be exactly that of the declared type and shape.

namespace {

static_assert(std::endian::native == std::endian::little, "raw files are little-endian");

/// The declared format of the input, else that of all inputs, else what the model says.
Result<RawFormat> format_for(const FileRequest& request) {
  const auto& declared = request.options.raw;
  for (const std::string& key : {request.input.name, file_spelling(request.input.name), std::string()}) {
    const auto found = declared.find(key);
    if (found != declared.end()) return found->second;
  }
  if (!request.input.has_shape || !ir::element_count(request.input.dims).ok()) {
    return bad_data(request.path, ": raw values need a shape, input ", request.input.name, " has ",
                    request.input.has_shape ? shape_text(request.input.dims) : "none",
                    "; set it in calibration.raw: {dtype: float32, shape: [...]}");
  }
  return RawFormat{request.input.type, request.input.dims};
}

}  // namespace

Result<ir::Tensor> read_raw_file(const FileRequest& request) {
  QQ_TRY(const RawFormat format, format_for(request));
  const Result<int64_t> count = ir::element_count(format.dims);
  if (!count.ok()) return bad_data(request.path, ": ", count.status().message());
  if (bits(format.type) == 0) {
    return bad_data(request.path, ": raw values of type ", name(format.type), ", numbers are allowed");
  }
  const auto needed = static_cast<size_t>(storage_bytes(format.type, count.value()));
  if (request.bytes.size != needed) {
    return bad_data(request.path, ": ", request.bytes.size, " bytes, ", name(format.type), shape_text(format.dims),
                    " of input ", request.input.name, " needs ", needed);
  }
  QQ_RETURN_IF_ERROR(check_array(request, format.type, format.dims));
  ir::Tensor tensor = ir::Tensor::allocate(format.type, format.dims);
  if (needed > 0) std::memcpy(tensor.mutable_raw(), request.bytes.data, needed);
  return tensor;
}

// NumPy's .npz: a zip archive with one .npy file per array, named after it.

namespace {

constexpr std::string_view kSuffix = ".npy";

/// The array's name, or "" when the entry is no array.
std::string key_of(const ZipEntry& entry) {
  if (!entry.name.ends_with(kSuffix)) return {};
  return entry.name.substr(0, entry.name.size() - kSuffix.size());
}

Result<const ZipEntry*> find_entry(const ZipFile& zip, const FileRequest& request) {
  std::vector<const ZipEntry*> arrays;
  std::vector<std::string> keys;
  for (const ZipEntry& entry : zip.entries()) {
    if (key_of(entry).empty()) continue;
    arrays.push_back(&entry);
    keys.push_back(key_of(entry));
  }
  for (const std::string& wanted : spellings_of(request.input)) {
    const auto found = std::find(keys.begin(), keys.end(), wanted);
    if (found != keys.end()) return arrays[static_cast<size_t>(found - keys.begin())];
  }
  if (request.is_only_input && arrays.size() == 1) return arrays[0];
  return bad_data(request.path, ": contains no array for input ", request.input.name,
                  did_you_mean(request.input.name, keys), " (found: ", keys.empty() ? "none" : join(keys, ", "), ")");
}

}  // namespace

Result<ir::Tensor> read_npz_file(const FileRequest& request) {
  QQ_TRY(const ZipFile zip, ZipFile::parse(request.bytes.data, request.bytes.size, request.path));
  QQ_TRY(const ZipEntry* entry, find_entry(zip, request));
  const std::string name = cat(request.path, ": entry ", entry->name);
  // The header says how much there should be, before the rest is unpacked.
  QQ_TRY(const std::vector<std::byte> start, zip.read_start(*entry, kMaxNpyHeader));
  QQ_TRY(const NpyHeader header, read_npy_header(start.data(), start.size(), name));
  if (header.total_bytes != entry->bytes) {
    return bad_data(name, ": ", entry->bytes, " bytes, its header ", quarkq::name(header.type), shape_text(header.dims),
                    " needs ", header.total_bytes);
  }
  QQ_RETURN_IF_ERROR(check_array(request, header.type, header.dims));
  QQ_TRY(std::vector<std::byte> unpacked, zip.read(*entry));
  const auto bytes = std::make_shared<const std::vector<std::byte>>(std::move(unpacked));
  return adopt_npy(bytes, *bytes, name);
}

}  // namespace quarkq::calib

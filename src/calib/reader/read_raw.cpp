// SPDX-License-Identifier: MIT
// Raw binary files: nothing but values, so their size must be exactly that of the declared type and shape.
#include <bit>
#include <cstring>

#include "calib/reader/file_formats.h"

namespace quarkq::calib {
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

}  // namespace quarkq::calib

// SPDX-License-Identifier: MIT
// NumPy's .npy files (format versions 1 to 3): whole arrays, every numeric dtype, C and Fortran order.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "ir/tensor.h"

namespace quarkq::calib {

/// The parsed header of a file. `total_bytes`: size of header and data together.
struct NpyHeader {
  ElementType type = ElementType::kUndefined;
  bool swapped = false;  ///< big-endian data
  bool fortran = false;
  ir::Shape dims;
  size_t data_start = 0, total_bytes = 0;
};
/// No header needs more bytes than this; NumPy's own are below 64 KiB.
constexpr size_t kMaxNpyHeader = size_t{1} << 20;
/// The header of the file that starts with these bytes, which may be all of it or the first kMaxNpyHeader.
Result<NpyHeader> read_npy_header(const std::byte* data, size_t bytes, const std::string& name);

/// The array in a file, in C order. Fails with kBadData naming the file for object arrays, truncated files, and headers
/// that disagree with the size of the file.
Result<ir::Tensor> read_npy(const std::string& path);
/// The same from memory; `name` is its name in messages.
Result<ir::Tensor> parse_npy(const std::byte* data, size_t bytes, const std::string& name);

/// The same without a copy where that can be (C order, native byte order, aligned): it then keeps `owner` alive.
Result<ir::Tensor> adopt_npy(const std::shared_ptr<const void>& owner, std::span<const std::byte> bytes,
                             const std::string& name);
/// Writes version 1.0, C order, by atomic rename. bfloat16 and the small types have no NumPy dtype and are refused.
Status write_npy(const std::string& path, const ir::Tensor& tensor);

}  // namespace quarkq::calib

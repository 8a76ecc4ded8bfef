// SPDX-License-Identifier: MIT
// NumPy's .npy files (format versions 1 to 3): whole arrays, every numeric dtype, C and Fortran order.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "ir/tensor.h"

namespace quarkq::calib {

/// The parsed header of a file. `total_bytes` is the size of header and data together.
struct NpyHeader {
  ElementType type = ElementType::kUndefined;
  bool swapped = false;  ///< Big-endian data.
  bool fortran = false;
  ir::Shape dims;
  size_t data_start = 0, total_bytes = 0;
};
/// Upper bound on the bytes of a header; NumPy's own headers are below 64 KiB.
constexpr size_t kMaxNpyHeader = size_t{1} << 20;
/// Parses the header of the file that starts with these bytes: the whole file or the first kMaxNpyHeader bytes.
Result<NpyHeader> read_npy_header(const std::byte* data, size_t bytes, const std::string& name);

/// Returns the array in a file, in C order. Fails with kBadData naming the file for object arrays, truncated files, and
/// headers that contradict the size of the file.
Result<ir::Tensor> read_npy(const std::string& path);
/// Parses an array in memory. Messages refer to it as `name`.
Result<ir::Tensor> parse_npy(const std::byte* data, size_t bytes, const std::string& name);

/// Parses an array in memory without a copy if possible (C order, native byte order, aligned); the result then keeps
/// `owner` alive.
Result<ir::Tensor> adopt_npy(const std::shared_ptr<const void>& owner, std::span<const std::byte> bytes,
                             const std::string& name);
/// Writes version 1.0 in C order by atomic rename. bfloat16 and the small types have no NumPy dtype and are rejected.
Status write_npy(const std::string& path, const ir::Tensor& tensor);

}  // namespace quarkq::calib

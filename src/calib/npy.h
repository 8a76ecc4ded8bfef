// SPDX-License-Identifier: MIT
// NumPy's .npy files (format versions 1 to 3): whole arrays, every numeric dtype, C and Fortran order.
#pragma once

#include <string>

#include "ir/tensor.h"

namespace quarkq::calib {

/// The array in a file, in C order. Fails with kBadData naming the file for object arrays, truncated files, and headers
/// that disagree with the size of the file.
Result<ir::Tensor> read_npy(const std::string& path);
/// The same from memory; `name` is what messages call it.
Result<ir::Tensor> parse_npy(const std::byte* data, size_t bytes, const std::string& name);

/// Writes version 1.0, C order, by atomic rename. bfloat16 and the small types have no NumPy dtype and are refused.
Status write_npy(const std::string& path, const ir::Tensor& tensor);

}  // namespace quarkq::calib

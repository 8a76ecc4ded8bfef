// SPDX-License-Identifier: MIT
// Helpers of the passes that turn constants into stored integers.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ir/tensor.h"

namespace quarkq::passes {

/// Elements of a float32 or float16 tensor as float32.
Result<std::vector<float>> float_values(const ir::Tensor& tensor);

/// Integers stored in `type` under `dims`. REQUIRES: every value fits the type.
ir::Tensor store_codes(const std::vector<int32_t>& codes, ElementType type, const ir::Shape& dims);

}  // namespace quarkq::passes

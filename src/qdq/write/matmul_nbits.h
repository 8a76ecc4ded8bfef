// SPDX-License-Identifier: MIT
// UseMatMulNBits (spec 04 E.4): matrices in 4 bits instead of Q/DQ nodes.
#pragma once

#include <cstdint>

#include "pass/context.h"

namespace quarkq::qdq {

enum class NBitsAlgorithm : uint8_t { kDefault, kHqq, kGptq };

/// MatMulNBitsParams.
struct NBitsOptions {
  NBitsAlgorithm algorithm = NBitsAlgorithm::kDefault;
  int64_t group_size = 128;
  bool symmetric = true;
  int64_t accuracy_level = 0;
};
Result<NBitsOptions> nbits_options(const config::Settings& settings);

}  // namespace quarkq::qdq

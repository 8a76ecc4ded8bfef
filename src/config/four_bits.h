// SPDX-License-Identifier: MIT
// Requirements of stored 4-bit weights, for the type of all weights and for those of single tensors.
#pragma once

#include <cstdint>

#include "config/settings.h"

namespace quarkq::config {

constexpr int64_t kOpsetWith4Bits = 21;  ///< of QuantizeLinear and DequantizeLinear

/// Why not, as "UseGPTQ true, which ..."; null: they can.
const char* refusal_of_4_bits(const Settings& settings);

}  // namespace quarkq::config

// SPDX-License-Identifier: MIT
// OCP microscaling (ref:operators#microscaling): the values of a block are small floats or 8-bit integers times one
// power of two. Input and output are float32, bit for bit as the reference's operator gives them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "numeric/shared_exponent.h"

namespace quarkq::numeric {

/// One element format.
struct MxElement {
  std::string_view name;
  int exponent_bits, fraction_bits;  ///< 0 exponent bits: int8
  int largest_exponent;              ///< the shared power of two is this far below the largest value
  float largest;
};

/// "fp8_e5m2", "fp8_e4m3", "fp6_e3m2", "fp6_e2m3", "fp4_e2m1" or "int8"; null for other names.
const MxElement* find_mx_element(std::string_view name);
/// All names, for messages.
std::string mx_element_names();

struct MxSettings {
  const MxElement* element = nullptr;
  BlockRounding rounding = BlockRounding::kHalfAway;  ///< int8 only; floats round half to even
};

/// One block in place. A zero changes nothing about the others. REQUIRES: settings.element is set.
void convert_mx_block(std::span<float> values, const MxSettings& settings);

/// Some blocks of split.count(), with vectors (block_loops.h); y may be x.
void convert_mx(const float* x, float* y, const BlockSplit& split, BlockRange blocks, const MxSettings& settings);

}  // namespace quarkq::numeric

// SPDX-License-Identifier: MIT
#include "numeric/mx.h"

#include <cmath>
#include <vector>

#include "base/strings.h"
#include "numeric/block_loops.h"

namespace quarkq::numeric {
namespace {

constexpr MxElement kElements[] = {
    {"fp8_e5m2", 5, 2, 15, 57344.0f}, {"fp8_e4m3", 4, 3, 8, 448.0f}, {"fp6_e3m2", 3, 2, 4, 28.0f},
    {"fp6_e2m3", 2, 3, 2, 7.5f},      {"fp4_e2m1", 2, 1, 2, 6.0f},   {"int8", 0, 6, 0, 127.0f},
};

/// 2^exponent, a normal number.
float power_of_two(int exponent) { return std::bit_cast<float>(static_cast<uint32_t>(exponent + 127) << 23); }

/// The nearest value of a small float, ties to even, too large ones cut off. Zero loses its sign.
float small_float(float x, const MxElement& element) {
  const int bias = (1 << (element.exponent_bits - 1)) - 1;
  const int exponent = std::max(exponent_field(x) - 127, 1 - bias) - element.fraction_bits;
  const float steps = std::rint(std::fabs(x) * power_of_two(-exponent));
  const float magnitude = std::min(steps * power_of_two(exponent), element.largest);
  return magnitude == 0.0f ? 0.0f : std::copysign(magnitude, x);
}

float fixed_point(float x, BlockRounding rounding) {
  constexpr float kSteps = 64.0f;
  return std::clamp(round_block_value(x * kSteps, rounding), -128.0f, 127.0f) / kSteps;
}

}  // namespace

const MxElement* find_mx_element(std::string_view name) {
  for (const MxElement& element : kElements) {
    if (element.name == name) return &element;
  }
  return nullptr;
}

std::string mx_element_names() {
  std::vector<std::string_view> names;
  for (const MxElement& element : kElements) names.push_back(element.name);
  return join(names, ", ");
}

void convert_mx_block(std::span<float> values, const MxSettings& settings) {
  const MxElement& element = *settings.element;
  const float scale = std::ldexp(1.0f, shared_exponent(values) - 127 - element.largest_exponent);
  for (float& value : values) {
    if (exponent_field(value) == 255) continue;
    const float inside = value / scale;
    value =
        scale * (element.exponent_bits == 0 ? fixed_point(inside, settings.rounding) : small_float(inside, element));
  }
}

void convert_mx(const float* x, float* y, const BlockSplit& split, BlockRange blocks, const MxSettings& settings) {
  QQ_DISPATCH(numeric, mx_blocks)(x, y, plan_blocks(split, blocks.begin, blocks.end, split.block), settings);
}

}  // namespace quarkq::numeric

// SPDX-License-Identifier: MIT
#include "numeric/bfp.h"

#include <cmath>

#include "numeric/block_loops.h"

namespace quarkq::numeric {
namespace {

constexpr int kBias = 127, kInfinite = 255;

/// Steps and limits of a block, from its shared exponent.
struct Grid {
  float step = 0, low = 0, high = 0;
};

Grid grid_of(int exponent, int magnitude_bits) {
  const double step = std::ldexp(1.0, exponent - magnitude_bits + 1);
  const auto high = static_cast<float>(std::ldexp(1.0, exponent + 1) - step);
  return {static_cast<float>(step), -high, high};
}

/// Steps twice as wide when a value of the largest exponent would round to 2^7 steps. The limits then never bind
/// where 7 bits of magnitude are kept; the 2^7 is the reference's, whatever the width.
Grid widened_grid(std::span<const float> values, int field, const BfpSettings& settings, int magnitude_bits) {
  constexpr float kTop = 128.0f;
  int exponent = field - kBias;
  Grid grid = grid_of(exponent, magnitude_bits);
  for (const float value : values) {
    if (exponent_field(value) != field) continue;
    const float steps = round_block_value(value / grid.step, settings.rounding);
    if (steps < kTop && steps >= -kTop) continue;
    ++exponent;
    grid.step *= 2;
    break;
  }
  grid.high = static_cast<float>(std::ldexp(std::ldexp(1.0, magnitude_bits) - 1, exponent));
  grid.low = static_cast<float>(-std::ldexp(1.0, exponent + magnitude_bits));
  return grid;
}

void convert_shared(std::span<float> values, const BfpSettings& settings) {
  const int magnitude_bits = settings.bit_width - 9;
  const int field = shared_exponent(values);
  const Grid grid = settings.compiler_exponents ? widened_grid(values, field, settings, magnitude_bits)
                                                : grid_of(field - kBias, magnitude_bits);
  for (float& value : values) {
    if (exponent_field(value) == kInfinite) continue;
    value = std::clamp(round_block_value(value / grid.step, settings.rounding) * grid.step, grid.low, grid.high);
  }
}

/// The significand of `value`, shifted right by `shift` bits and rounded; never past `top`.
uint32_t shifted_significand(float value, int shift, uint32_t top, BlockRounding rounding) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const uint32_t significand = exponent_field(value) == 0 ? 0 : (bits & 0x7FFFFF) | 0x800000;
  if (shift <= 0) return significand;
  if (shift > 25) return 0;
  const uint32_t steps = significand >> shift;
  const uint32_t tail = significand & ((1u << shift) - 1), half = 1u << (shift - 1);
  if (steps == top || tail < half) return steps;
  if (tail > half || rounding == BlockRounding::kHalfAway) return steps + 1;
  if (rounding == BlockRounding::kHalfUp) return std::signbit(value) ? steps : steps + 1;
  return steps + (steps & 1);
}

int largest_field(std::span<const float> values) {
  int largest = 0;
  for (const float value : values) largest = std::max(largest, exponent_field(value));
  return largest;
}

void convert_prime(std::span<float> values, const BfpSettings& settings) {
  const int magnitude_bits = settings.bit_width - 9;
  const uint32_t top = (1u << magnitude_bits) - 1;
  const int field = largest_field(values);
  if (field == kInfinite) {
    std::fill(values.begin(), values.end(), std::bit_cast<float>(0x7FFFFFFFu));
    return;
  }
  const auto width = static_cast<size_t>(settings.sub_block_size);
  for (size_t first = 0; first + width <= values.size(); first += width) {
    const std::span<float> part = values.subspan(first, width);
    const int down = std::min(field - largest_field(part), (1 << settings.sub_block_shift_bits) - 1);
    const int unit = field - kBias - down + 1 - magnitude_bits;
    for (float& value : part) {
      const int shift = field - down - exponent_field(value) + 24 - magnitude_bits;
      const double magnitude =
          std::ldexp(static_cast<double>(shifted_significand(value, shift, top, settings.rounding)), unit);
      value = static_cast<float>(std::signbit(value) ? -magnitude : magnitude);
    }
  }
}

}  // namespace

void convert_bfp_block(std::span<float> values, const BfpSettings& settings) {
  if (settings.bfloat_first) {
    for (float& value : values) value = bfloat16_rounded(value);
  }
  if (settings.method == BfpMethod::kBfp) return convert_shared(values, settings);
  convert_prime(values, settings);
}

void convert_bfp(const float* x, float* y, const BlockSplit& split, BlockRange blocks, const BfpSettings& settings) {
  const int64_t part = settings.method == BfpMethod::kBfpPrime ? settings.sub_block_size : split.block;
  QQ_DISPATCH(numeric, bfp_blocks)(x, y, plan_blocks(split, blocks.begin, blocks.end, part), settings);
}

}  // namespace quarkq::numeric

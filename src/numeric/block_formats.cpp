// SPDX-License-Identifier: MIT
#include "numeric/block_formats.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "base/strings.h"

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

namespace {

constexpr MxElement kElements[] = {
    {"fp8_e5m2", 5, 2, 15, 57344.0f, 0x700000}, {"fp8_e4m3", 4, 3, 8, 448.0f, 0x680000},
    {"fp6_e3m2", 3, 2, 4, 28.0f, 0x700000},     {"fp6_e2m3", 2, 3, 2, 7.5f, 0x780000},
    {"fp4_e2m1", 2, 1, 2, 6.0f, 0x600000},      {"int8", 0, 6, 0, 127.0f, 0x7FFFFF},
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

int mx_shared_exponent(std::span<const float> values, const MxSettings& settings) {
  if (!settings.round_scale_up) return shared_exponent(values);
  constexpr uint32_t kMagnitude = 0x7FFFFFFF;
  constexpr int kLargestField = 254;
  uint32_t largest = 0;
  for (const float value : values) {
    if (exponent_field(value) != kInfinite) largest = std::max(largest, std::bit_cast<uint32_t>(value) & kMagnitude);
  }
  return std::min(static_cast<int>((largest + settings.element->carry()) >> 23), kLargestField);
}

void convert_mx_block(std::span<float> values, const MxSettings& settings) {
  const MxElement& element = *settings.element;
  const float scale = std::ldexp(1.0f, mx_shared_exponent(values, settings) - 127 - element.largest_exponent);
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

namespace {

constexpr int64_t kTileElements = 1024;       ///< Elements per tile of contiguous blocks; fits the first-level cache.
constexpr int64_t kGatheredElements = 65536;  ///< Approximate number of elements of blocks that are copied together.
constexpr int64_t kMostGathered = 64;         ///< blocks

int64_t rounded_up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

/// Parts of a vector, or whole vectors. Zeros fill it up: they change nothing about the others.
int64_t padded_size(int64_t size) {
  return size > kBlockLanes ? rounded_up(size, kBlockLanes)
                            : static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(size)));
}

bool fits_vectors(int64_t sub_block, int64_t block) {
  return sub_block == block || padded_size(sub_block) == sub_block;
}

void plan_within(BlockWork& work, int64_t sub_block) {
  work.is_within = true;
  work.padded_block = padded_size(work.split.block);
  work.padded_part = sub_block == work.split.block ? work.padded_block : sub_block;
  work.tile = std::max(kTileElements / work.padded_block * work.padded_block, work.padded_block);
}

}  // namespace

BlockWork plan_blocks(const BlockSplit& split, int64_t begin, int64_t end, int64_t sub_block) {
  BlockWork work;
  work.split = split;
  work.begin = begin;
  work.end = end;
  size_t values = 0;
  if (split.inner == 1 && fits_vectors(sub_block, split.block)) {
    plan_within(work, sub_block);
    const bool is_dense = work.padded_block == split.block && split.length % split.block == 0;
    if (!is_dense) values = static_cast<size_t>(work.tile);
  } else if (split.inner < kFewColumns) {
    // Few columns for long blocks: not more memory than the tensor takes.
    const int64_t columns = std::clamp(kGatheredElements / split.block, kBlockLanes, kMostGathered);
    work.tile = std::min(rounded_up(columns, kBlockLanes), rounded_up(end - begin, kBlockLanes));
    values = static_cast<size_t>(work.tile) * static_cast<size_t>(split.block);
  }
  const auto fields = static_cast<size_t>(std::max(rounded_up(work.tile, kBlockLanes), kBlockColumns));
  work.values = std::make_unique_for_overwrite<float[]>(values);
  work.fields = std::make_unique_for_overwrite<int32_t[]>(fields);
  work.parts = std::make_unique_for_overwrite<int32_t[]>(fields);
  return work;
}

}  // namespace quarkq::numeric

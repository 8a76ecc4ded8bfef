// SPDX-License-Identifier: MIT
#include "qdq/write/nbits_blocks.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/parallel.h"
#include "numeric/encode.h"
#include "numeric/real_numbers.h"

namespace quarkq::qdq {

namespace {

/// Fills codes, scales and zero points block by block: `grid_of(values)`, then `code_of(value, grid)`.
template <typename GridOf, typename CodeOf>
NBitsWeight for_blocks(std::span<const float> weight, const NBitsShape& shape, const GridOf& grid_of,
                       const CodeOf& code_of) {
  QQ_CHECK(static_cast<int64_t>(weight.size()) == shape.depth * shape.columns);
  NBitsWeight result;
  result.codes.assign(static_cast<size_t>(shape.columns * shape.blocks() * shape.block), 0);
  size_t at = 0;
  for (int64_t column = 0; column < shape.columns; ++column) {
    for (int64_t block = 0; block < shape.blocks(); ++block, at += static_cast<size_t>(shape.block)) {
      const std::vector<float> values = block_values(weight, shape, column, block);
      const BlockGrid grid = grid_of(values);
      for (size_t i = 0; i < values.size(); ++i) result.codes[at + i] = code_of(values[i], grid);
      result.scales.push_back(grid.scale);
      result.zeros.push_back(grid.zero);
    }
  }
  return result;
}

std::pair<float, float> range_of(const std::vector<float>& values) {
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  return {*low, *high};
}

/// max(|x| - |x|^(p-1) / beta, 0) with the sign of x.
float shrink(float x, float beta) {
  constexpr float kNorm = 0.7f;
  const float size = std::abs(x);
  const float left = size - std::pow(size + 1e-8f, kNorm - 1) / beta;
  return left <= 0 ? 0.0f : std::copysign(left, x);
}

/// The rows of HQQ: blocks of all columns, padded with zeros, with their inverse scales and zero points.
struct HqqRows {
  const NBitsShape& shape;
  std::vector<float> values, scale, zero;

  float code(size_t i) const {
    const size_t row = i / static_cast<size_t>(shape.block);
    return shape.nearest_code(values[i] * scale[row] + zero[row]);
  }

  /// One step; returns the mean error before it.
  double improve(float beta) {
    double error = 0;
    const auto count = static_cast<size_t>(shape.block);
    for (size_t row = 0; row < scale.size(); ++row) {
      double sum = 0;
      for (size_t i = row * count; i < (row + 1) * count; ++i) {
        const float rounded = code(i), distance = values[i] - (rounded - zero[row]) / scale[row];
        sum += static_cast<double>(rounded - (values[i] - shrink(distance, beta)) * scale[row]);
        error += static_cast<double>(std::abs(distance));
      }
      zero[row] = static_cast<float>(sum / static_cast<double>(shape.block));
    }
    return error / static_cast<double>(values.size());
  }
};

HqqRows hqq_rows(std::span<const float> weight, const NBitsShape& shape) {
  constexpr float kLargestScale = 2e4f;
  HqqRows rows{shape, {}, {}, {}};
  for (int64_t column = 0; column < shape.columns; ++column) {
    for (int64_t block = 0; block < shape.blocks(); ++block) {
      std::vector<float> values = block_values(weight, shape, column, block);
      values.resize(static_cast<size_t>(shape.block), 0.0f);
      const auto [low, high] = range_of(values);
      rows.scale.push_back(high > low ? std::min(shape.largest_code() / (high - low), kLargestScale) : kLargestScale);
      rows.zero.push_back(numeric::round_half_even(-low * rows.scale.back()));
      rows.values.insert(rows.values.end(), values.begin(), values.end());
    }
  }
  return rows;
}

}  // namespace

std::vector<float> block_values(std::span<const float> weight, const NBitsShape& shape, int64_t column, int64_t block) {
  const int64_t begin = block * shape.block, end = std::min(begin + shape.block, shape.depth);
  std::vector<float> values;
  values.reserve(static_cast<size_t>(shape.block));
  for (int64_t row = begin; row < end; ++row)
    values.push_back(weight[static_cast<size_t>(row * shape.columns + column)]);
  return values;
}

NBitsWeight round_blocks(std::span<const float> weight, const NBitsShape& shape, bool symmetric) {
  return for_blocks(
      weight, shape,
      [&](const std::vector<float>& values) -> BlockGrid {
        auto [low, high] = range_of(values);
        if (symmetric)
          return {numeric::normal_scale((std::abs(high) > std::abs(low) ? high : low) / -shape.middle_code()),
                  shape.middle_code()};
        low = std::min(low, 0.0f);
        high = std::max(high, 0.0f);
        const float scale = numeric::normal_scale((high - low) / shape.largest_code());
        const float zero = scale == 0 ? 0.0f : numeric::round_half_away(-low / scale);
        return {scale, std::clamp(zero, 0.0f, shape.largest_code())};
      },
      [&](float value, const BlockGrid& grid) {
        const float inverse = grid.scale != 0 ? 1.0f / grid.scale : 0.0f;
        return static_cast<uint8_t>(shape.limited_code(numeric::round_half_away(value * inverse + grid.zero)));
      });
}

PackedNBits round_packed_blocks(std::span<const float> weight, const NBitsShape& shape, bool symmetric) {
  constexpr int64_t kColumns = 256;  // Columns per piece of work.
  QQ_CHECK(static_cast<int64_t>(weight.size()) == shape.depth * shape.columns &&
           shape.block * shape.stored_bits() % 8 == 0);
  const auto blocks = static_cast<size_t>(shape.columns * shape.blocks());
  PackedNBits result;
  result.codes.assign(blocks * static_cast<size_t>(shape.block_bytes()), 0);
  result.scales.resize(blocks);
  result.zeros.resize(blocks);
  const numeric::NBitsMatrix matrix{weight.data(), shape.depth, shape.columns, shape.block, symmetric, shape.bits};
  const numeric::NBitsBlocks out{result.codes.data(), result.scales.data(), result.zeros.data()};
  parallel_pieces(shape.columns, kColumns, {}, [&](int64_t begin, int64_t end) {
    QQ_DISPATCH(numeric, round_nbits)(matrix, begin, end, out);
  });
  return result;
}

PackedNBits packed(NBitsWeight weight, const NBitsShape& shape) {
  if (shape.moved_by() != 0) {
    const auto width = static_cast<size_t>(shape.blocks() * shape.block), depth = static_cast<size_t>(shape.depth);
    for (size_t begin = 0; begin < weight.codes.size(); begin += width) {
      for (size_t i = begin; i < begin + depth; ++i)
        weight.codes[i] = static_cast<uint8_t>(weight.codes[i] + shape.moved_by());
    }
    for (float& zero : weight.zeros) zero += static_cast<float>(shape.moved_by());
  }
  return {pack_rows(weight.codes, shape.block, shape.stored_bits(), 0), std::move(weight.scales),
          std::move(weight.zeros)};
}

NBitsWeight hqq_blocks(std::span<const float> weight, const NBitsShape& shape) {
  constexpr int kSteps = 20;
  constexpr float kGrowth = 1.01f;
  HqqRows rows = hqq_rows(weight, shape);
  float beta = 10;
  double least = 1e4;
  for (int step = 0; step < kSteps; ++step, beta *= kGrowth) {
    const double error = rows.improve(beta);
    if (error >= least) break;
    least = error;
  }
  NBitsWeight result;
  for (size_t i = 0; i < rows.values.size(); ++i) result.codes.push_back(static_cast<uint8_t>(rows.code(i)));
  for (const float scale : rows.scale) result.scales.push_back(1.0f / scale);
  result.zeros = std::move(rows.zero);
  return result;
}

NBitsWeight round_again(std::span<const float> weight, const NBitsShape& shape, bool symmetric) {
  return for_blocks(
      weight, shape,
      [&](const std::vector<float>& values) -> BlockGrid {
        const auto [low, high] = range_of(values);
        const float most = std::max(std::abs(low), std::abs(high));
        if (symmetric) return {numeric::normal_scale(2 * most / shape.largest_code()), shape.middle_code()};
        const float scale = numeric::normal_scale((high - low) / shape.largest_code());
        return {scale, scale == 0 ? 0.0f : shape.nearest_code(-low / scale)};
      },
      [&](float value, const BlockGrid& grid) {
        return static_cast<uint8_t>(shape.nearest_code(grid.scale == 0 ? grid.zero : value / grid.scale + grid.zero));
      });
}

void round_zero_points(std::span<const float> weight, const NBitsShape& shape, NBitsWeight& made) {
  size_t block = 0;
  for (int64_t column = 0; column < shape.columns; ++column) {
    for (int64_t b = 0; b < shape.blocks(); ++b, ++block) {
      const std::vector<float> values = block_values(weight, shape, column, b);
      // Ranges without 0 have their zero point beyond the codes.
      if (made.zeros[block] < 0 || made.zeros[block] > shape.largest_code()) {
        const BlockGrid grid = fit_k_quant(values, {}, shape, /*is_symmetric=*/false);
        made.zeros[block] = grid.zero;
        made.scales[block] = grid.scale;
      }
      const float zero = shape.nearest_code(made.zeros[block]), scale = made.scales[block];
      made.zeros[block] = zero;
      uint8_t* const codes = made.codes.data() + block * static_cast<size_t>(shape.block);
      for (size_t i = 0; i < values.size(); ++i)
        codes[i] = static_cast<uint8_t>(scale == 0 ? zero : shape.nearest_code(values[i] / scale + zero));
    }
  }
}

std::vector<uint8_t> pack_rows(std::span<const uint8_t> values, int64_t row, int bits, uint8_t rest) {
  const auto width = static_cast<size_t>(row), per_byte = static_cast<size_t>(8 / bits);
  std::vector<uint8_t> bytes;
  bytes.reserve((values.size() + per_byte - 1) / per_byte);
  for (size_t begin = 0; begin < values.size(); begin += width) {
    for (size_t i = 0; i < width; i += per_byte) {
      uint32_t byte = 0;
      for (size_t k = 0; k < per_byte; ++k) {
        const uint32_t code = i + k < width ? values[begin + i + k] : rest;
        byte |= code << (k * static_cast<size_t>(bits));
      }
      bytes.push_back(static_cast<uint8_t>(byte));
    }
  }
  return bytes;
}

}  // namespace quarkq::qdq

// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/parallel.h"
#include "qdq/write/nbits_blocks.h"

namespace quarkq::qdq {
namespace {

struct Grid {
  float scale = 0, zero = 0;

  float code(float value) const { return scale == 0 ? zero : nearest_nbits_code(value / scale + zero); }
};

class Block {
 public:
  explicit Block(std::vector<float> values) : values_(std::move(values)) {
    double squares = 0;
    for (const float value : values_) squares += square(value);
    const double typical = std::sqrt(squares / static_cast<double>(values_.size()));
    for (const float value : values_) weights_.push_back(typical + std::abs(static_cast<double>(value)));
  }

  /// Returns the grid with the smallest error as stored, among the grid of round_blocks() and grids with other numbers
  /// of steps in the range, each with the best scale for its codes.
  Grid fit() const {
    constexpr int kTrials = 20;
    const auto [least, greatest] = std::minmax_element(values_.begin(), values_.end());
    const float low = std::min(*least, 0.0f), high = std::max(*greatest, 0.0f);
    if (low == high) return {};
    Grid best = over(low, high, kLargestNBitsCode);
    double error = error_of(best);
    for (int trial = 0; trial < kTrials; ++trial) {
      const Grid found = fitted(over(low, high, kLargestNBitsCode - 1 + 0.1f * static_cast<float>(trial)));
      const double of_found = error_of(found);
      if (!(of_found < error)) continue;  // nor what is not a number
      error = of_found;
      best = found;
    }
    return best;
  }

 private:
  static double square(double value) { return value * value; }

  static Grid over(float low, float high, float steps) {
    const float scale = (high - low) / steps;
    return {scale, nearest_nbits_code(-low / scale)};
  }

  /// Weighted least squares: the scale for the codes that the grid gives.
  Grid fitted(const Grid& grid) const {
    double products = 0, squares = 0;
    for (size_t i = 0; i < values_.size(); ++i) {
      const double step = static_cast<double>(grid.code(values_[i]) - grid.zero);
      products += weights_[i] * step * static_cast<double>(values_[i]);
      squares += weights_[i] * square(step);
    }
    return {static_cast<float>(products / squares), grid.zero};
  }

  double error_of(const Grid& grid) const {
    double sum = 0;
    for (size_t i = 0; i < values_.size(); ++i) {
      const float stored = (grid.code(values_[i]) - grid.zero) * grid.scale;
      sum += weights_[i] * square(static_cast<double>(stored - values_[i]));
    }
    return sum;
  }

  std::vector<float> values_;
  std::vector<double> weights_;
};

}  // namespace

NBitsWeight k_quant_blocks(std::span<const float> weight, const NBitsShape& shape) {
  QQ_CHECK(static_cast<int64_t>(weight.size()) == shape.depth * shape.columns);
  const int64_t blocks = shape.blocks();
  const auto count = static_cast<size_t>(shape.columns * blocks), width = static_cast<size_t>(shape.block);
  NBitsWeight result{std::vector<uint8_t>(count * width), std::vector<float>(count), std::vector<float>(count)};
  parallel_for(shape.columns * blocks, [&](int64_t at) {
    const auto i = static_cast<size_t>(at);
    std::vector<float> values = block_values(weight, shape, at / blocks, at % blocks);
    const size_t rows = values.size();
    values.resize(width);
    const Grid grid = Block(values).fit();
    result.scales[i] = grid.scale;
    result.zeros[i] = grid.zero;
    for (size_t k = 0; k < rows; ++k) result.codes[i * width + k] = static_cast<uint8_t>(grid.code(values[k]));
  });
  return result;
}

}  // namespace quarkq::qdq

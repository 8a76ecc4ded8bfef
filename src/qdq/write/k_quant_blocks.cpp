// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "base/parallel_errors.h"
#include "numeric/rounding.h"
#include "qdq/write/nbits_blocks.h"

namespace quarkq::qdq {
namespace {

float code_of(float steps) { return std::clamp(numeric::round_half_even(steps), 0.0f, kLargestNBitsCode); }

struct Grid {
  float scale = 1, zero = 0;
};

/// Values are approximated by scale * code + low.
struct Line {
  double scale = 0, low = 0;
};

class Block {
 public:
  explicit Block(std::vector<float> values) : values_(std::move(values)), codes_(values_.size()) {
    double squares = 0;
    for (const float value : values_) squares += static_cast<double>(value) * static_cast<double>(value);
    const auto typical = static_cast<float>(std::sqrt(squares / static_cast<double>(values_.size())));
    for (const float value : values_) weights_.push_back(typical + std::abs(value));
  }

  /// From the range of the values on, codes for a few numbers of steps in it, and the line that fits each best.
  Grid fit() {
    constexpr int kTrials = 20;
    const auto [low, high] = std::minmax_element(values_.begin(), values_.end());
    const double least_value = std::min(static_cast<double>(*low), 0.0),
                 largest = std::max(static_cast<double>(*high), 0.0);
    if (least_value == largest) return {};  // zeros
    Line best{(largest - least_value) / kLargestNBitsCode, least_value};
    encode(best.low, 1 / best.scale);
    double least = error(best);
    for (int trial = 0; trial < kTrials; ++trial) {
      const double steps = static_cast<double>(kLargestNBitsCode) - 1 + 0.1 * trial;
      encode(best.low, steps / (largest - best.low));
      const Line line = fitted();
      const double found = error(line);
      if (!(found < least) || !has_zero_point(line)) continue;  // nor what is not a number
      least = found;
      best = line;
    }
    const auto scale = static_cast<float>(best.scale);
    return {scale, code_of(static_cast<float>(-best.low / best.scale))};
  }

 private:
  /// Zero lies among the codes.
  static bool has_zero_point(const Line& line) {
    return line.low <= 0 && -line.low <= static_cast<double>(kLargestNBitsCode) * line.scale;
  }

  void encode(double low, double inverse) {
    for (size_t i = 0; i < values_.size(); ++i)
      codes_[i] = code_of(static_cast<float>((static_cast<double>(values_[i]) - low) * inverse));
  }

  /// Weighted least squares for the codes as they are.
  Line fitted() const {
    double weights = 0, values = 0, codes = 0, squares = 0, products = 0;
    for (size_t i = 0; i < values_.size(); ++i) {
      const double weight = weights_[i], value = values_[i], code = codes_[i];
      weights += weight;
      values += weight * value;
      codes += weight * code;
      squares += weight * code * code;
      products += weight * code * value;
    }
    const double determinant = weights * squares - codes * codes;
    return {(weights * products - values * codes) / determinant, (squares * values - codes * products) / determinant};
  }

  double error(const Line& line) const {
    double sum = 0;
    for (size_t i = 0; i < values_.size(); ++i) {
      const double off = line.scale * static_cast<double>(codes_[i]) + line.low - static_cast<double>(values_[i]);
      sum += static_cast<double>(weights_[i]) * off * off;
    }
    return sum;
  }

  std::vector<float> values_, weights_, codes_;
};

}  // namespace

NBitsWeight k_quant_blocks(std::span<const float> weight, const NBitsShape& shape) {
  QQ_CHECK(static_cast<int64_t>(weight.size()) == shape.depth * shape.columns);
  const int64_t blocks = shape.blocks();
  const auto count = static_cast<size_t>(shape.columns * blocks), width = static_cast<size_t>(shape.block);
  NBitsWeight result{std::vector<uint8_t>(count * width), std::vector<float>(count), std::vector<float>(count)};
  ParallelErrors errors;
#pragma omp parallel for schedule(static)
  for (size_t i = 0; i < count; ++i) {
    errors.run([&] {
      const auto column = static_cast<int64_t>(i) / blocks, begin = static_cast<int64_t>(i) % blocks * shape.block;
      const int64_t rows = std::min(shape.block, shape.depth - begin);
      std::vector<float> values(width);
      for (int64_t k = 0; k < rows; ++k)
        values[static_cast<size_t>(k)] = weight[static_cast<size_t>((begin + k) * shape.columns + column)];
      const Grid grid = Block(values).fit();
      result.scales[i] = grid.scale;
      result.zeros[i] = grid.zero;
      const float inverse = grid.scale == 0 ? 0 : 1 / grid.scale;
      for (int64_t k = 0; k < rows; ++k)
        result.codes[i * width + static_cast<size_t>(k)] =
            static_cast<uint8_t>(code_of(values[static_cast<size_t>(k)] * inverse + grid.zero));
    });
  }
  errors.rethrow();
  return result;
}

}  // namespace quarkq::qdq

// SPDX-License-Identifier: MIT
#include "qdq/write/nbits_blocks.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/parallel.h"

namespace quarkq::qdq {
namespace {

/// Trials of one block: ranges from slightly wider than the block's to narrower ones, which clip its largest values.
/// Few bits gain from narrow ranges.
struct Ranges {
  static constexpr int kTrials = 18;
  float widest, narrowest;

  explicit Ranges(int bits)
      : widest(1.07f),
        narrowest(bits <= 2   ? 0.55f
                  : bits == 3 ? 0.7f
                  : bits == 4 ? 0.8f
                              : 0.985f) {
    if (bits == 8) widest = 1.004f;
  }
  float factor(int trial) const {
    return widest + (narrowest - widest) * static_cast<float>(trial) / static_cast<float>(kTrials - 1);
  }
};

class Fit {
 public:
  Fit(std::span<const float> values, std::span<const float> importance, const NBitsShape& shape)
      : values_(values), shape_(shape), weights_(values.size()) {
    double squares = 0;
    for (const float value : values) squares += square(static_cast<double>(value));
    const double typical = std::sqrt(squares / static_cast<double>(values.size()));
    for (size_t i = 0; i < values.size(); ++i) {
      const double factor = importance.empty() ? 1.0 : static_cast<double>(importance[i]);
      weights_[i] = factor * (typical + std::abs(static_cast<double>(values[i])));
    }
  }

  /// The grid of round_blocks(), improved by the trials.
  BlockGrid asymmetric() const {
    const auto [least, greatest] = std::minmax_element(values_.begin(), values_.end());
    const float low = std::min(*least, 0.0f), high = std::max(*greatest, 0.0f);
    if (low == high) return {};
    const float scale = (high - low) / shape_.largest_code();
    const BlockGrid plain{scale, shape_.nearest_code(-low / scale)};
    Best best;
    const Ranges ranges(shape_.bits);
    for (int trial = 0; trial < Ranges::kTrials; ++trial) {
      for (const float step : {0.0f, -1.0f, 1.0f}) {
        const float zero = plain.zero + step;
        if (zero < 0 || zero > shape_.largest_code()) continue;
        try_grid({scale * ranges.factor(trial), zero}, best);
      }
    }
    return better_of(plain, refined(best.grid));
  }

  BlockGrid symmetric() const {
    const auto [least, greatest] = std::minmax_element(values_.begin(), values_.end());
    const float most = std::abs(*greatest) > std::abs(*least) ? *greatest : *least, zero = shape_.middle_code();
    if (most == 0) return {0, zero};
    const float scale = most / -shape_.middle_code();
    Best best;
    const Ranges ranges(shape_.bits);
    for (int trial = 0; trial < Ranges::kTrials; ++trial) {
      try_grid({scale * ranges.factor(trial), zero}, best);
      // The other sign: the largest magnitude becomes the largest code, which is one step less.
      try_grid({-scale * ranges.factor(trial) * zero / (zero - 1), zero}, best);
    }
    return better_of({scale, zero}, refined(best.grid));
  }

 private:
  struct Best {
    BlockGrid grid;
    double gain = 0;  ///< Reduction of the weighted squares by the best scale for the grid's codes.
  };

  static double square(double value) { return value * value; }

  float code(float value, const BlockGrid& grid) const {
    return grid.scale == 0 ? grid.zero : shape_.nearest_code(value / grid.scale + grid.zero);
  }

  /// Sums over the codes of a grid: of weight * step * value and of weight * step^2.
  std::pair<double, double> sums(const BlockGrid& grid) const {
    double products = 0, squares = 0;
    const float inverse = 1.0f / grid.scale;
    for (size_t i = 0; i < values_.size(); ++i) {
      const auto step = static_cast<double>(shape_.nearest_code(values_[i] * inverse + grid.zero) - grid.zero);
      products += weights_[i] * step * static_cast<double>(values_[i]);
      squares += weights_[i] * square(step);
    }
    return {products, squares};
  }

  void try_grid(const BlockGrid& grid, Best& best) const {
    if (!(std::isfinite(1.0f / grid.scale))) return;
    const auto [products, squares] = sums(grid);
    const double gain = squares > 0 ? products * products / squares : 0;
    if (!(gain > best.gain)) return;  // nor what is not a number
    best = {{static_cast<float>(products / squares), grid.zero}, gain};
  }

  /// Codes for the scale, and the scale for the codes, in turn.
  BlockGrid refined(BlockGrid grid) const {
    constexpr int kRounds = 2;
    for (int round = 0; round < kRounds && std::isfinite(1.0f / grid.scale); ++round) {
      const auto [products, squares] = sums(grid);
      if (!(squares > 0)) break;
      grid.scale = static_cast<float>(products / squares);
    }
    return grid;
  }

  /// Errors as stored.
  double error_of(const BlockGrid& grid) const {
    double sum = 0;
    for (size_t i = 0; i < values_.size(); ++i) {
      const float stored = (code(values_[i], grid) - grid.zero) * grid.scale;
      sum += weights_[i] * square(static_cast<double>(stored - values_[i]));
    }
    return sum;
  }
  BlockGrid better_of(const BlockGrid& plain, const BlockGrid& found) const {
    return error_of(found) < error_of(plain) ? found : plain;
  }

  std::span<const float> values_;
  const NBitsShape& shape_;
  std::vector<double> weights_;
};

}  // namespace

BlockGrid fit_k_quant(std::span<const float> values, std::span<const float> importance, const NBitsShape& shape,
                      bool is_symmetric) {
  const Fit fit(values, importance, shape);
  return is_symmetric ? fit.symmetric() : fit.asymmetric();
}

NBitsWeight k_quant_blocks(std::span<const float> weight, const NBitsShape& shape, const KQuantOptions& options) {
  QQ_CHECK(static_cast<int64_t>(weight.size()) == shape.depth * shape.columns);
  QQ_CHECK(options.importance.empty() || static_cast<int64_t>(options.importance.size()) == shape.depth);
  const int64_t blocks = shape.blocks();
  const auto count = static_cast<size_t>(shape.columns * blocks), width = static_cast<size_t>(shape.block);
  NBitsWeight result{std::vector<uint8_t>(count * width), std::vector<float>(count), std::vector<float>(count)};
  parallel_for(shape.columns * blocks, [&](int64_t at) {
    const auto i = static_cast<size_t>(at), first = static_cast<size_t>(at % blocks) * width;
    std::vector<float> values = block_values(weight, shape, at / blocks, at % blocks);
    const size_t rows = values.size();
    values.resize(width);
    std::vector<float> importance;
    if (!options.importance.empty()) {
      const auto some = options.importance.subspan(first, rows);
      importance.assign(some.begin(), some.end());
      importance.resize(width);
    }
    const BlockGrid grid = fit_k_quant(values, importance, shape, options.is_symmetric);
    result.scales[i] = grid.scale;
    result.zeros[i] = grid.zero;
    for (size_t k = 0; k < rows; ++k) {
      const float code = grid.scale == 0 ? grid.zero : shape.nearest_code(values[k] / grid.scale + grid.zero);
      result.codes[i * width + k] = static_cast<uint8_t>(code);
    }
  });
  return result;
}

}  // namespace quarkq::qdq

// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "base/parallel.h"
#include "numeric/encode.h"
#include "qdq/write/nbits_blocks.h"

namespace quarkq::qdq {
namespace {

/// Factors of a block's range: from slightly more than all of it to less, which clips its largest values. Few bits gain
/// from narrow ranges.
struct Factors {
  float widest, narrowest;

  explicit Factors(int bits)
      : widest(bits == 8 ? 1.004f : 1.07f),
        narrowest(bits <= 2   ? 0.55f
                  : bits == 3 ? 0.7f
                  : bits == 4 ? 0.8f
                              : 0.985f) {}
  float at(int trial, int count) const {
    return widest + (narrowest - widest) * static_cast<float>(trial) / static_cast<float>(count - 1);
  }
};

/// The search in one block: grids over the whole range of factors, then grids next to the best of them, each with the
/// best factor for its codes.
class Fit {
 public:
  Fit(std::span<const float> values, std::span<const float> importance, const NBitsShape& shape)
      : values_(values),
        shape_(shape),
        spread_(QQ_DISPATCH(qdq, measure_block)(values)),
        steps_(values.size()),
        weights_(values.size()) {
    const float mean = spread_.squares / static_cast<float>(values.size());
    QQ_DISPATCH(qdq, weigh_block)(values, importance, std::sqrt(mean), weights_.data());
  }

  BlockGrid asymmetric() {
    const float low = spread_.low, high = spread_.high;
    if (low == high) return {};
    const float scale = numeric::normal_scale((high - low) / shape_.largest_code());
    const BlockGrid plain{scale, shape_.nearest_code(-low / scale)};
    return searched(
        plain,
        {{1, plain.zero}, {1, std::max(plain.zero - 1, 0.0f)}, {1, std::min(plain.zero + 1, shape_.largest_code())}});
  }

  BlockGrid symmetric() {
    const float most = spread_.high > -spread_.low ? spread_.high : spread_.low, zero = shape_.middle_code();
    if (most == 0) return {0, zero};
    // The other sign: the largest magnitude becomes the largest code, which is one step less.
    return searched({numeric::normal_scale(most / -zero), zero}, {{1, zero}, {-zero / (zero - 1), zero}});
  }

 private:
  static constexpr int kCount = GridTrials::kCount;

  /// The best of all grids so far, with a factor of the unit as its scale.
  struct Best {
    BlockGrid grid;
    float error = std::numeric_limits<float>::max();
  };

  /// `kinds`: grids whose factors are varied.
  BlockGrid searched(const BlockGrid& plain, const std::vector<BlockGrid>& kinds) {
    if (!std::isfinite(plain.scale) || !std::isfinite(1.0f / plain.scale)) return plain;
    QQ_DISPATCH(qdq, divide_block)(values_, plain.scale, steps_.data());
    const BlockGrid found = better_of({1, plain.zero}, widened(kinds));
    return {numeric::normal_scale(found.scale * plain.scale), found.zero};
  }

  GridErrors tried(const GridTrials& trials) const {
    GridErrors found;
    QQ_DISPATCH(qdq, try_grids)({steps_, weights_, shape_.largest_code()}, trials, found);
    return found;
  }

  /// Grids over the whole range, then next to the best.
  Best widened(const std::vector<BlockGrid>& kinds) const {
    const Factors factors(shape_.bits);
    const int count = kCount / static_cast<int>(kinds.size());
    GridTrials wide, near;
    for (int t = 0; t < kCount; ++t) {
      const int trial = std::min(t, count * static_cast<int>(kinds.size()) - 1);
      const BlockGrid& kind = kinds[static_cast<size_t>(trial / count)];
      wide.factor[t] = kind.scale * factors.at(trial % count, count);
      wide.zero[t] = kind.zero;
    }
    Best best;
    BlockGrid start = kinds[0];
    take_best(wide, best, start);
    const float distance = (factors.widest - factors.narrowest) / static_cast<float>(count - 1);
    for (int t = 0; t < kCount; ++t) {
      const float part = (static_cast<float>(t) - (kCount - 1) / 2.0f) / (kCount / 2.0f);
      near.factor[t] = start.scale * (1 + distance * part);
      near.zero[t] = start.zero;
    }
    take_best(near, best, start);
    return best;
  }

  /// `start` becomes the trial that has led to the best grid.
  void take_best(const GridTrials& trials, Best& best, BlockGrid& start) const {
    const GridErrors found = tried(trials);
    for (int t = 0; t < kCount; ++t) {
      if (!(found.least[t] < best.error)) continue;
      best = {{found.factor[t], trials.zero[t]}, found.least[t]};
      start = {trials.factor[t], trials.zero[t]};
    }
  }

  /// Returns the grid with the smaller error as stored.
  BlockGrid better_of(const BlockGrid& plain, const Best& best) const {
    if (!(best.error < std::numeric_limits<float>::max())) return plain;
    GridTrials both;
    std::fill_n(both.factor, kCount, plain.scale);
    std::fill_n(both.zero, kCount, plain.zero);
    both.factor[1] = best.grid.scale;
    both.zero[1] = best.grid.zero;
    const GridErrors found = tried(both);
    return found.stored[1] < found.stored[0] ? best.grid : plain;
  }

  std::span<const float> values_;
  const NBitsShape& shape_;
  BlockSpread spread_;
  std::vector<float> steps_, weights_;
};

constexpr int64_t kTileColumns = 64;  // Columns per piece of work, so that rows are read in whole cache lines.

/// Blocks of some columns, column by column. Blocks beyond the depth are padded with zeros.
class ColumnTile {
 public:
  ColumnTile(std::span<const float> weight, const NBitsShape& shape, int64_t begin, int64_t end)
      : weight_(weight), shape_(shape), begin_(begin), columns_(end - begin) {
    values_.resize(static_cast<size_t>(columns_ * shape.block));
  }

  void read(int64_t block) {
    const int64_t first = block * shape_.block, rows = std::min(shape_.block, shape_.depth - first);
    if (rows < shape_.block) std::ranges::fill(values_, 0.0f);
    for (int64_t k = 0; k < rows; ++k) {
      const float* const row = weight_.data() + (first + k) * shape_.columns + begin_;
      for (int64_t c = 0; c < columns_; ++c) values_[static_cast<size_t>(c * shape_.block + k)] = row[c];
    }
  }
  std::span<const float> column(int64_t c) const {
    return std::span(values_).subspan(static_cast<size_t>(c * shape_.block), static_cast<size_t>(shape_.block));
  }

 private:
  std::span<const float> weight_;
  const NBitsShape& shape_;
  int64_t begin_, columns_;
  std::vector<float> values_;
};

}  // namespace

BlockGrid fit_k_quant(std::span<const float> values, std::span<const float> importance, const NBitsShape& shape,
                      bool is_symmetric) {
  Fit fit(values, importance, shape);
  return is_symmetric ? fit.symmetric() : fit.asymmetric();
}

NBitsWeight k_quant_blocks(std::span<const float> weight, const NBitsShape& shape, const KQuantOptions& options) {
  QQ_CHECK(static_cast<int64_t>(weight.size()) == shape.depth * shape.columns);
  QQ_CHECK(options.importance.empty() || static_cast<int64_t>(options.importance.size()) == shape.depth);
  const int64_t blocks = shape.blocks();
  const auto count = static_cast<size_t>(shape.columns * blocks), width = static_cast<size_t>(shape.block);
  NBitsWeight result{std::vector<uint8_t>(count * width), std::vector<float>(count), std::vector<float>(count)};
  std::vector<float> importance(options.importance.begin(), options.importance.end());
  if (!importance.empty()) importance.resize(static_cast<size_t>(blocks) * width);
  parallel_pieces(shape.columns, kTileColumns, {}, [&](int64_t begin, int64_t end) {
    ColumnTile tile(weight, shape, begin, end);
    for (int64_t block = 0; block < blocks; ++block) {
      tile.read(block);
      const size_t first = static_cast<size_t>(block) * width;
      const auto some = importance.empty() ? std::span<const float>() : std::span(importance).subspan(first, width);
      for (int64_t column = begin; column < end; ++column) {
        const std::span<const float> values = tile.column(column - begin);
        const auto i = static_cast<size_t>(column * blocks + block);
        const BlockGrid grid = fit_k_quant(values, some, shape, options.is_symmetric);
        result.scales[i] = grid.scale;
        result.zeros[i] = grid.zero;
        const auto rows = static_cast<size_t>(std::min(shape.block, shape.depth - block * shape.block));
        QQ_DISPATCH(qdq, round_block)
        (values.first(rows), grid, shape.largest_code(), result.codes.data() + i * width);
      }
    }
  });
  return result;
}

}  // namespace quarkq::qdq

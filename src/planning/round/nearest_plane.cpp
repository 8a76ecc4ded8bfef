// SPDX-License-Identifier: MIT
#include "planning/round/nearest_plane.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "numeric/encode.h"
#include "planning/round/product_loops.h"

namespace quarkq::planning {
namespace {

/// Of the mean of the diagonal, added to it: few samples leave directions that no input has.
constexpr double kDamping = 0.01;
constexpr int64_t kBlock = 32;

float* row_of(std::vector<float>& matrix, int64_t row, int64_t columns) { return matrix.data() + row * columns; }

/// Inputs that matter least first: the last ones are rounded first, the others make up for their errors.
std::vector<int64_t> rounding_order(const Gram& gram) {
  std::vector<int64_t> order(static_cast<size_t>(gram.depth()));
  std::iota(order.begin(), order.end(), int64_t{0});
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return gram.at(a, a) < gram.at(b, b); });
  return order;
}

/// The Gram matrix in this order, damped; of the lower half nothing is set.
std::vector<float> sorted_gram(const Gram& gram, const std::vector<int64_t>& order) {
  const int64_t depth = gram.depth();
  double trace = 0;
  for (int64_t i = 0; i < depth; ++i) trace += static_cast<double>(gram.at(i, i));
  const auto damping = static_cast<float>(kDamping * trace / static_cast<double>(depth));
  std::vector<float> sorted(static_cast<size_t>(depth * depth));
  for (int64_t i = 0; i < depth; ++i) {
    for (int64_t k = i; k < depth; ++k) {
      const auto [first, second] = std::minmax(order[static_cast<size_t>(i)], order[static_cast<size_t>(k)]);
      row_of(sorted, i, depth)[k] = gram.at(first, second) + (i == k ? damping : 0.0f);
    }
  }
  return sorted;
}

/// The upper factor U of a symmetric matrix U^T U in its place, row block by row block. False: there is none.
bool factorize(std::vector<float>& matrix, int64_t depth) {
  for (int64_t begin = 0; begin < depth; begin += kBlock) {
    const int64_t end = std::min(begin + kBlock, depth);
    for (int64_t i = begin; i < end; ++i) {
      float* row = row_of(matrix, i, depth);
      if (!(row[i] > 0) || !std::isfinite(row[i])) return false;
      const float pivot = std::sqrt(row[i]);
      for (int64_t k = i; k < depth; ++k) row[k] /= pivot;
      for (int64_t r = i + 1; r < end; ++r) {
        float* other = row_of(matrix, r, depth);
        const float factor = row[r];
        for (int64_t k = r; k < depth; ++k) other[k] -= factor * row[k];
      }
    }
    for (int64_t r = end; r < depth; r += kBlock) {
      const int64_t rows = std::min(kBlock, depth - r);
      const float* done = row_of(matrix, begin, depth);
      QQ_DISPATCH(planning, add_product)
      ({row_of(matrix, r, depth) + r, depth}, {done + r, depth}, {done + r, depth}, {rows, depth - r, end - begin}, -1);
    }
  }
  return true;
}

class Rounder {
 public:
  Rounder(const RoundingProblem& problem, const std::vector<float>& factor, const std::vector<int64_t>& order)
      : problem_(problem),
        factor_(factor),
        order_(order),
        depth_(static_cast<int64_t>(order.size())),
        outputs_(static_cast<int64_t>(problem.params.size())),
        codes_(problem.weights.size()),
        carried_(problem.weights.size()),
        errors_(static_cast<size_t>(kBlock * outputs_)) {}

  std::vector<int32_t> run() {
    for (int64_t end = depth_; end > 0;) {
      const int64_t begin = std::max<int64_t>(0, end - kBlock);
      for (int64_t i = end - 1; i >= begin; --i) round_row(i, begin);
      carry(begin, end);
      end = begin;
    }
    return std::move(codes_);
  }

 private:
  float factor(int64_t row, int64_t column) const { return factor_[static_cast<size_t>(row * depth_ + column)]; }

  /// The weights of one input. `begin`: first row of its block.
  void round_row(int64_t row, int64_t begin) {
    const int64_t input = order_[static_cast<size_t>(row)];
    float* errors = row_of(errors_, row - begin, outputs_);
    const float* carried = row_of(carried_, row, outputs_);
    for (int64_t o = 0; o < outputs_; ++o) {
      const numeric::QuantParams& grid = problem_.params[static_cast<size_t>(o)];
      const auto at = static_cast<size_t>(o * depth_ + input);
      const float weight = problem_.weights[at], aim = weight + carried[o] / factor(row, row);
      const float code = std::nearbyint(aim / grid.scale) + static_cast<float>(grid.zero_point);
      codes_[at] = static_cast<int32_t>(std::fmax(  // unlike clamp() takes what is not a number
          static_cast<float>(problem_.limits.min), std::fmin(code, static_cast<float>(problem_.limits.max))));
      errors[o] = weight - static_cast<float>(codes_[at] - grid.zero_point) * grid.scale;
    }
    for (int64_t r = begin; r < row; ++r) {
      float* other = row_of(carried_, r, outputs_);
      const float share = factor(r, row);
      for (int64_t o = 0; o < outputs_; ++o) other[o] += share * errors[o];
    }
  }

  /// The effect of the errors of the rows [begin, end) on all rows before.
  void carry(int64_t begin, int64_t end) {
    if (begin == 0) return;
    std::vector<float> shares(static_cast<size_t>((end - begin) * begin));
    for (int64_t r = 0; r < begin; ++r) {
      for (int64_t i = begin; i < end; ++i) shares[static_cast<size_t>((i - begin) * begin + r)] = factor(r, i);
    }
    QQ_DISPATCH(planning, add_product)
    ({carried_.data(), outputs_}, {shares.data(), begin}, {errors_.data(), outputs_}, {begin, outputs_, end - begin},
     1);
  }

  const RoundingProblem& problem_;
  const std::vector<float>& factor_;
  const std::vector<int64_t>& order_;
  int64_t depth_, outputs_;
  std::vector<int32_t> codes_;
  std::vector<float> carried_;  ///< [depth, outputs]: what errors of rows that are done ask of each row
  std::vector<float> errors_;   ///< [block, outputs]
};

}  // namespace

void Gram::add(std::span<const float> inputs, int64_t rows) {
  for (int64_t i = 0; i < depth_; i += kBlock) {
    const int64_t count = std::min(kBlock, depth_ - i);
    const ConstMatrixPart from_here{inputs.data() + i, depth_};
    QQ_DISPATCH(planning, add_product)
    ({row_of(sums_, i, depth_) + i, depth_}, from_here, from_here, {count, depth_ - i, rows}, 1);
  }
}

std::vector<int32_t> round_to_nearest_plane(const RoundingProblem& problem, const Gram& gram) {
  const std::vector<int64_t> order = rounding_order(gram);
  std::vector<float> factor = sorted_gram(gram, order);
  if (factorize(factor, gram.depth())) return Rounder(problem, factor, order).run();
  const auto outputs = static_cast<int64_t>(problem.params.size());
  return numeric::encode(problem.weights, {1, outputs, gram.depth()}, problem.params, problem.limits);
}

}  // namespace quarkq::planning

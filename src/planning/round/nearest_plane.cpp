// SPDX-License-Identifier: MIT
#include "planning/round/nearest_plane.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "ir/constants.h"
#include "numeric/encode.h"
#include "numeric/product_loops.h"

namespace quarkq::planning {

namespace {

int64_t product_of(const std::vector<int64_t>& factors) {
  return std::accumulate(factors.begin(), factors.end(), int64_t{1}, std::multiplies<>());
}

/// Coordinates of element `index` of an array of these dimensions.
void coordinates_of(int64_t index, const std::vector<int64_t>& dims, std::vector<int64_t>& coordinates) {
  for (size_t axis = dims.size(); axis-- > 0;) {
    coordinates[axis] = index % dims[axis];
    index /= dims[axis];
  }
}

/// Number `i` of `count` places that are spread evenly over `size`.
int64_t spread(int64_t i, int64_t count, int64_t size) { return (2 * i + 1) * size / (2 * count); }

}  // namespace

Result<InputRows> InputRows::make(const finetune::Layer& layer, const ir::Node& node, const ir::Shape& weights) {
  InputRows rows;
  if (layer.kind == finetune::Layer::Kind::kProduct) {
    rows.is_product_ = true;
    rows.depth_ = weights[layer.transposed ? 1 : 0];
    rows.outputs_ = weights[layer.transposed ? 0 : 1];
    return rows;
  }
  if (layer.kind != finetune::Layer::Kind::kConv) return unsupported("it is neither a Conv nor a matrix product");
  const size_t axes = weights.size() - 2;
  rows.groups_ = node.int_or("group", 1);
  rows.kernel_.assign(weights.begin() + 2, weights.end());
  rows.strides_ = node.ints_or("strides", std::vector<int64_t>(axes, 1));
  rows.dilations_ = node.ints_or("dilations", std::vector<int64_t>(axes, 1));
  const std::vector<int64_t> pads = node.ints_or("pads", std::vector<int64_t>(2 * axes, 0));
  const auto is_positive = [](int64_t value) { return value > 0; };
  if (rows.strides_.size() != axes || rows.dilations_.size() != axes || pads.size() != 2 * axes || rows.groups_ < 1 ||
      weights[0] % rows.groups_ != 0 || !std::all_of(rows.strides_.begin(), rows.strides_.end(), is_positive) ||
      !std::all_of(rows.dilations_.begin(), rows.dilations_.end(), is_positive))
    return unsupported("its attributes do not fit its weights");
  rows.pads_.assign(pads.begin(), pads.begin() + static_cast<std::ptrdiff_t>(axes));
  rows.pads_after_.assign(pads.begin() + static_cast<std::ptrdiff_t>(axes), pads.end());
  rows.outputs_ = weights[0] / rows.groups_;
  rows.depth_ = weights[1] * product_of(rows.kernel_);
  return rows;
}

Result<std::vector<float>> InputRows::read(const ir::Tensor& input, int64_t most, ValueRange range) const {
  std::vector<float> converted;
  if (input.type() != ElementType::kFloat) {
    QQ_TRY(converted, ir::float_values(input));
  }
  const Values values{input.type() == ElementType::kFloat ? input.data<float>() : converted, range};
  if (!is_product_) return read_images(values, input.dims(), most);
  if (input.rank() < 1 || input.dims().back() != depth_) return unsupported("its input does not fit its weights");
  return read_product(values, most);
}

std::vector<float> InputRows::read_product(const Values& values, int64_t most) const {
  const auto size = static_cast<int64_t>(values.data.size());
  const int64_t all = size / std::max<int64_t>(1, depth_), count = std::min(all, most);
  std::vector<float> rows;
  rows.reserve(static_cast<size_t>(count * depth_));
  for (int64_t i = 0; i < count; ++i) {
    const int64_t first = spread(i, count, all) * depth_;
    for (int64_t k = 0; k < depth_; ++k) rows.push_back(values.at(first + k));
  }
  return rows;
}

Result<std::vector<float>> InputRows::read_images(const Values& values, const ir::Shape& dims, int64_t most) const {
  const size_t axes = kernel_.size();
  const int64_t taps = product_of(kernel_), channels = taps == 0 ? 0 : depth_ / taps;
  if (dims.size() != axes + 2 || dims[1] != channels * groups_)
    return unsupported("its input does not fit its weights");
  const std::vector<int64_t> image(dims.begin() + 2, dims.end());
  std::vector<int64_t> result(axes), place(axes), tap(axes);
  for (size_t i = 0; i < axes; ++i) {
    const int64_t span = image[i] + pads_[i] + pads_after_[i] - dilations_[i] * (kernel_[i] - 1) - 1;
    if (span < 0) return unsupported("its result is empty");
    result[i] = span / strides_[i] + 1;
  }
  const int64_t places = product_of(result), all = dims[0] * places, count = std::min(all, most);
  const int64_t plane = product_of(image);
  std::vector<int64_t> offsets(static_cast<size_t>(count * taps));  // of the first channel, by row and tap; -1: padding
  for (int64_t r = 0; r < count; ++r) {
    const int64_t number = spread(r, count, all), sample = number / places * dims[1] * plane;
    coordinates_of(number % places, result, place);
    for (int64_t t = 0; t < taps; ++t) {
      coordinates_of(t, kernel_, tap);
      int64_t offset = 0;
      for (size_t i = 0; i < axes && offset >= 0; ++i) {
        const int64_t at = place[i] * strides_[i] - pads_[i] + tap[i] * dilations_[i];
        offset = at < 0 || at >= image[i] ? -1 : offset * image[i] + at;
      }
      offsets[static_cast<size_t>(r * taps + t)] = offset < 0 ? -1 : sample + offset;
    }
  }
  std::vector<float> rows(static_cast<size_t>(groups_ * count * depth_));
  for (int64_t c = 0; c < dims[1]; ++c) {  // the outer loop, because a channel is what is contiguous
    float* first = rows.data() + c / channels * count * depth_ + c % channels * taps;
    for (int64_t r = 0; r < count; ++r) {
      for (int64_t t = 0; t < taps; ++t) {
        const int64_t offset = offsets[static_cast<size_t>(r * taps + t)];
        first[r * depth_ + t] = offset < 0 ? 0.0f : values.at(offset + c * plane);
      }
    }
  }
  return rows;
}

namespace {

/// Added to the diagonal, relative to its mean: few samples leave directions that no input has.
constexpr double kDamping = 0.01;
constexpr int64_t kBlock = 32;

float* row_of(std::vector<float>& matrix, int64_t row, int64_t columns) { return matrix.data() + row * columns; }

/// Inputs that matter least first: the last ones are rounded first, the others make up for their errors.
std::vector<int64_t> rounding_order(const numeric::Gram& gram) {
  std::vector<int64_t> order(static_cast<size_t>(gram.depth()));
  std::iota(order.begin(), order.end(), int64_t{0});
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return gram.at(a, a) < gram.at(b, b); });
  return order;
}

/// The Gram matrix in this order, damped; of the lower half nothing is set.
std::vector<float> sorted_gram(const numeric::Gram& gram, const std::vector<int64_t>& order) {
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
      QQ_DISPATCH(numeric, add_product)
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
    QQ_DISPATCH(numeric, add_product)
    ({carried_.data(), outputs_}, {shares.data(), begin}, {errors_.data(), outputs_}, {begin, outputs_, end - begin},
     1);
  }

  const RoundingProblem& problem_;
  const std::vector<float>& factor_;
  const std::vector<int64_t>& order_;
  int64_t depth_, outputs_;
  std::vector<int32_t> codes_;
  std::vector<float> carried_;  ///< [depth, outputs]: corrections for the remaining rows from the errors of finished
                                ///< rows.
  std::vector<float> errors_;   ///< [block, outputs]
};

}  // namespace

pass::RoundingFactor factor_of(const numeric::Gram& gram) {
  pass::RoundingFactor factor{rounding_order(gram), {}};
  factor.upper = sorted_gram(gram, factor.order);
  if (!factorize(factor.upper, gram.depth())) factor.upper = {};
  return factor;
}

std::vector<int32_t> round_to_nearest_plane(const RoundingProblem& problem, const pass::RoundingFactor& factor) {
  if (!factor.upper.empty()) return Rounder(problem, factor.upper, factor.order).run();
  const auto outputs = static_cast<int64_t>(problem.params.size()), depth = static_cast<int64_t>(factor.order.size());
  return numeric::encode(problem.weights, {1, outputs, depth}, problem.params, problem.limits);
}

}  // namespace quarkq::planning

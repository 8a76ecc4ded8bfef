// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/parallel.h"
#include "ir/constants.h"
#include "ir/edit.h"
#include "numeric/product_loops.h"
#include "qdq/write/nbits_learned.h"

namespace quarkq::qdq {
namespace {

constexpr int kPowers = 20;             // 0, 1/20, ..., 19/20, as in the paper
constexpr int64_t kTriedColumns = 128;  // Columns of a matrix that each power rounds.
constexpr int64_t kPiece = 32;          // Columns of a product per piece of work.

/// Some columns of a matrix, copied.
struct Part {
  NBitsShape shape;
  bool is_symmetric;
  std::vector<float> weight;  ///< [depth, columns]
};

/// Columns that are spread evenly over the matrix.
Part columns_of(const ScaledMatrix& matrix, int64_t begin, int64_t step, int64_t count) {
  Part part{matrix.shape, matrix.is_symmetric, {}};
  part.shape.columns = count;
  part.weight.reserve(static_cast<size_t>(part.shape.depth * count));
  for (int64_t k = 0; k < part.shape.depth; ++k) {
    const float* const row = matrix.weight.data() + k * matrix.shape.columns + begin;
    for (int64_t c = 0; c < count; ++c) part.weight.push_back(row[c * step]);
  }
  return part;
}

/// [rows, depth] as [depth, rows].
std::vector<float> by_channel(std::span<const float> inputs, size_t depth) {
  const size_t rows = inputs.size() / depth;
  std::vector<float> made(inputs.size());
  for (size_t r = 0; r < rows; ++r) {
    for (size_t k = 0; k < depth; ++k) made[k * rows + r] = inputs[r * depth + k];
  }
  return made;
}

class Search {
 public:
  Search(std::span<const float> inputs, std::span<const float> moments)
      : depth_(moments.size()), inputs_(by_channel(inputs, depth_)), moments_(moments) {}

  /// Scales of a power of the channels' magnitudes, with a geometric middle of 1.
  std::vector<float> scales_of(int power) const {
    constexpr float kLeast = 1e-4f;  // relative to the largest magnitude: channels that are almost never used
    const float most = std::sqrt(*std::ranges::max_element(moments_));
    std::vector<float> scales(depth_, 1.0f);
    if (power == 0 || !(most > 0) || !std::isfinite(most)) return scales;
    for (size_t k = 0; k < depth_; ++k) {
      const float magnitude = std::max(std::sqrt(moments_[k]) / most, kLeast);
      scales[k] = std::pow(magnitude, static_cast<float>(power) / kPowers);
    }
    const auto [low, high] = std::ranges::minmax_element(scales);
    const float middle = std::sqrt(*low * *high);
    for (float& scale : scales) scale /= middle;
    return scales;
  }

  /// Squared error of the products of the inputs with the part after rounding.
  double error_of(const Part& part, std::span<const float> scales) const {
    const NBitsShape& shape = part.shape;
    std::vector<float> scaled(part.weight), moments(depth_);
    for (size_t i = 0; i < scaled.size(); ++i) scaled[i] *= scales[i / static_cast<size_t>(shape.columns)];
    for (size_t k = 0; k < depth_; ++k) moments[k] = moments_[k] / (scales[k] * scales[k]);
    const NBitsWeight made = k_quant_blocks(scaled, shape, {part.is_symmetric, moments});
    std::vector<float>& off = scaled;  // of each weight
    for (int64_t k = 0; k < shape.depth; ++k) {
      for (int64_t c = 0; c < shape.columns; ++c) {
        const auto at = static_cast<size_t>(k * shape.columns + c);
        const auto block = static_cast<size_t>(c * shape.blocks() + k / shape.block);
        const auto code = static_cast<float>(made.codes[static_cast<size_t>(c * shape.blocks() * shape.block + k)]);
        const float stored = (code - made.zeros[block]) * made.scales[block] / scales[static_cast<size_t>(k)];
        off[at] = stored - part.weight[at];
      }
    }
    return squares_of_product(off, shape.columns);
  }

  /// The same for all columns of all matrices.
  double error_of(std::span<const ScaledMatrix> matrices, std::span<const float> scales) const {
    constexpr int64_t kTogether = 1024;  // Columns that are copied at a time.
    double error = 0;
    for (const ScaledMatrix& matrix : matrices) {
      for (int64_t begin = 0; begin < matrix.shape.columns; begin += kTogether) {
        const int64_t count = std::min(kTogether, matrix.shape.columns - begin);
        error += error_of(columns_of(matrix, begin, 1, count), scales);
      }
    }
    return error;
  }

 private:
  /// Sum of squares of inputs * off. Its order does not depend on threads.
  double squares_of_product(const std::vector<float>& off, int64_t columns) const {
    const auto depth = static_cast<int64_t>(depth_), rows = static_cast<int64_t>(inputs_.size()) / depth;
    std::vector<double> sums(static_cast<size_t>((columns + kPiece - 1) / kPiece));
    parallel_pieces(columns, kPiece, {.share = Share::kAsFree}, [&](int64_t begin, int64_t end) {
      std::vector<float> products(static_cast<size_t>(rows * (end - begin)), 0.0f);
      QQ_DISPATCH(numeric, add_product)
      ({products.data(), end - begin}, {inputs_.data(), rows}, {off.data() + begin, columns},
       {rows, end - begin, depth}, 1);
      double& sum = sums[static_cast<size_t>(begin / kPiece)];
      for (const float product : products) sum += static_cast<double>(product) * static_cast<double>(product);
    });
    return std::accumulate(sums.begin(), sums.end(), 0.0);
  }

  size_t depth_;
  std::vector<float> inputs_;  ///< [depth, rows]
  std::span<const float> moments_;
};

}  // namespace

std::vector<float> find_awq_scales(std::span<const ScaledMatrix> matrices, std::span<const float> inputs,
                                   std::span<const float> moments) {
  if (inputs.empty()) return {};
  const Search search(inputs, moments);
  std::vector<Part> parts;
  for (const ScaledMatrix& matrix : matrices) {
    const int64_t count = std::min(kTriedColumns, matrix.shape.columns);
    parts.push_back(columns_of(matrix, 0, matrix.shape.columns / count, count));
  }
  std::vector<float> best;
  double least = 0;
  for (int power = 0; power < kPowers; ++power) {
    std::vector<float> scales = search.scales_of(power);
    double error = 0;
    for (const Part& part : parts) error += search.error_of(part, scales);
    if (power > 0 && !(error < least)) continue;
    least = error;
    best = power > 0 ? std::move(scales) : std::vector<float>();
  }
  if (best.empty()) return {};
  const bool is_better = search.error_of(matrices, best) < search.error_of(matrices, search.scales_of(0));
  return is_better ? best : std::vector<float>();
}

namespace {

/// Matrices that read the same value, which nothing else reads.
struct Group {
  ir::ValueId input;
  std::vector<size_t> matrices;
};

std::vector<Group> find_groups(const ir::Graph& graph, const std::vector<LowBitMatrix>& matrices,
                               const std::vector<bool>& is_tied) {
  std::vector<Group> groups;
  for (size_t i = 0; i < matrices.size(); ++i) {
    const LowBitMatrix& matrix = matrices[i];
    if (matrix.nodes.size() != 1 || is_tied[i] || graph.use_count(matrix.target.weight) != 1) continue;
    const ir::ValueId input = matrix.target.inputs.front();
    const auto same = std::ranges::find(groups, input, &Group::input);
    if (same == groups.end()) {
      groups.push_back({input, {i}});
    } else {
      same->matrices.push_back(i);
    }
  }
  std::erase_if(groups, [&](const Group& group) { return graph.use_count(group.input) != group.matrices.size(); });
  return groups;
}

class Scaling {
 public:
  Scaling(pass::QdqContext& context, std::vector<LowBitMatrix>& matrices, InputMoments& moments)
      : graph_(context.graph()), matrices_(matrices), moments_(moments) {}

  Status scale(const Group& group, std::span<const float> inputs) {
    const size_t first = group.matrices.front();
    const auto channels = static_cast<int64_t>(moments_[first].size());
    const std::optional<std::vector<ScaleTaker>> takers = find_scale_takers(graph_, group.input, channels);
    if (!takers) return Status();
    std::vector<ir::FloatView> views;
    std::vector<ScaledMatrix> scaled;
    for (const size_t i : group.matrices) {
      QQ_TRY(ir::FloatView view, ir::FloatView::of(*graph_.value(matrices_[i].target.weight).constant));
      views.push_back(std::move(view));
      scaled.push_back({views.back(), matrices_[i].shape(graph_), matrices_[i].format.is_symmetric});
    }
    const std::vector<float> scales = find_awq_scales(scaled, inputs, moments_[first]);
    if (scales.empty()) return Status();
    for (const ScaleTaker& taker : *takers) QQ_RETURN_IF_ERROR(divide(taker, scales));
    for (const size_t i : group.matrices) {
      matrices_[i].row_scales = scales;
      for (size_t k = 0; k < scales.size(); ++k) moments_[i][k] /= scales[k] * scales[k];
    }
    return Status();
  }

 private:
  Status divide(const ScaleTaker& taker, std::span<const float> scales) {
    const ir::Tensor stored = *graph_.value(taker.constant).constant;
    const auto width = static_cast<size_t>(stored.dims().back());
    std::vector<float> factors(width, 1.0f);
    for (size_t k = 0; k < scales.size(); ++k)
      factors[taker.places.empty() ? k : static_cast<size_t>(taker.places[k])] = 1.0f / scales[k];
    const auto own =
        std::ranges::find(matrices_, taker.constant, [](const LowBitMatrix& one) { return one.target.weight; });
    if (own != matrices_.end()) {
      own->column_scales.resize(width, 1.0f);
      for (size_t i = 0; i < width; ++i) own->column_scales[i] *= factors[i];
      return Status();
    }
    QQ_TRY(std::vector<float> values, ir::float_values(stored));
    for (size_t i = 0; i < values.size(); ++i) values[i] *= factors[i % width];
    ir::GraphEdit(graph_).set_constant(taker.constant, ir::store_floats(values, stored.type(), stored.dims()));
    return Status();
  }

  ir::Graph& graph_;
  std::vector<LowBitMatrix>& matrices_;
  InputMoments& moments_;
};

}  // namespace

Status scale_by_activations(pass::QdqContext& context, std::vector<LowBitMatrix>& matrices, InputMoments& moments,
                            const std::vector<bool>& is_tied, const pass::KeptInputs& inputs) {
  const std::vector<Group> groups = find_groups(context.graph(), matrices, is_tied);
  Scaling scaling(context, matrices, moments);
  for (size_t i = 0; i < groups.size(); ++i) {
    // The rows belong to the first matrix that reads the value.
    const auto owner = std::ranges::find_if(
        matrices, [&](const LowBitMatrix& one) { return one.target.inputs.front() == groups[i].input; });
    QQ_RETURN_IF_ERROR(scaling.scale(groups[i], inputs.rows[static_cast<size_t>(owner - matrices.begin())]));
    if (context.progress && !context.progress(i + 1, groups.size())) return Status(Code::kInterrupted, "interrupted");
  }
  return Status();
}

}  // namespace quarkq::qdq

// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/parallel.h"
#include "ir/constants.h"
#include "numeric/encode.h"
#include "numeric/product_loops.h"
#include "qdq/write/nbits_learned.h"

namespace quarkq::qdq {
namespace {

constexpr int64_t kColumns = 32;  // Columns per piece of work: one tile of numeric::add_product().
constexpr int64_t kRows = 32;     // Rows whose moves are applied to all products together.
/// Factors of a block's range.
constexpr float kNarrowest = 0.5f, kWidest = 1.2f;

float sign(float value) { return value > 0 ? 1.0f : value < 0 ? -1.0f : 0.0f; }

/// The lowest and the highest value of a block at the start, and their factors.
struct BlockRange {
  float low = 0, high = 0, low_factor = 1, high_factor = 1;
};

/// Some columns of a matrix, which are learned together.
class Piece {
 public:
  /// `start`: of the whole matrix.
  Piece(std::span<const float> weight, const NBitsShape& shape, const NBitsWeight& start, int64_t begin, int64_t end)
      : shape_(shape), begin_(begin), columns_(end - begin), blocks_(shape.blocks()) {
    const auto count = static_cast<size_t>(shape.depth * columns_), grids = static_cast<size_t>(blocks_ * columns_);
    for (auto* const one : {&weight_, &offsets_, &error_, &products_}) one->resize(count);
    for (auto* const one : {&scale_, &zero_, &scale_gradient_, &zero_gradient_}) one->resize(grids);
    codes_.resize(count);
    ranges_.resize(grids);
    for (int64_t k = 0; k < shape.depth; ++k)
      std::copy_n(weight.data() + k * shape.columns + begin, columns_, weight_.data() + k * columns_);
    take_start(start);
  }

  void learn(const AutoRoundOptions& options, NBitsWeight& best) {
    std::vector<double> losses(static_cast<size_t>(columns_)), least(losses.size());
    if (options.steps > 0) {
      multiply(options.gram);
      QQ_DISPATCH(qdq, column_losses)(view(), products_.data(), least.data());
    }
    for (int64_t step = 0; step < options.steps; ++step) {
      QQ_DISPATCH(qdq, round_with_offsets)(view());
      multiply(options.gram);
      QQ_DISPATCH(qdq, column_losses)(view(), products_.data(), losses.data());
      for (int64_t c = 0; c < columns_; ++c) {
        const auto i = static_cast<size_t>(c);
        if (!(losses[i] < least[i])) continue;
        least[i] = losses[i];
        keep(c, best);
      }
      const auto left = static_cast<float>(options.steps - step) / static_cast<float>(options.steps);
      move(options.is_symmetric, left / static_cast<float>(options.steps));
    }
    if (options.steps > 0) take_start(best);
    multiply(options.gram);
    if (descend(options.gram)) {
      for (int64_t c = 0; c < columns_; ++c) keep(c, best);
    }
  }

 private:
  RoundingPiece view() {
    return {shape_.depth,    columns_,      shape_.block,  shape_.largest_code(), weight_.data(),
            offsets_.data(), error_.data(), codes_.data(), scale_.data(),         zero_.data()};
  }

  /// Grids, ranges and errors of the codes of `start`.
  void take_start(const NBitsWeight& start) {
    for (int64_t c = 0; c < columns_; ++c) {
      const int64_t column = begin_ + c;
      for (int64_t b = 0; b < blocks_; ++b) {
        const auto from = static_cast<size_t>(column * blocks_ + b), to = static_cast<size_t>(b * columns_ + c);
        const float scale = start.scales[from], zero = start.zeros[from];
        scale_[to] = scale;
        zero_[to] = zero;
        ranges_[to] = {-zero * scale, (shape_.largest_code() - zero) * scale};
      }
      for (int64_t k = 0; k < shape_.depth; ++k) {
        const auto at = static_cast<size_t>(k * columns_ + c);
        const auto grid = static_cast<size_t>(k / shape_.block * columns_ + c);
        const uint8_t code = start.codes[static_cast<size_t>(column * blocks_ * shape_.block + k)];
        codes_[at] = code;
        error_[at] = (static_cast<float>(code) - zero_[grid]) * scale_[grid] - weight_[at];
      }
    }
  }

  void multiply(std::span<const float> gram) {
    std::ranges::fill(products_, 0.0f);
    QQ_DISPATCH(numeric, add_product)
    ({products_.data(), columns_}, {gram.data(), shape_.depth}, {error_.data(), columns_},
     {shape_.depth, columns_, shape_.depth}, 1);
  }

  /// Moves one code of each column at a time to where the loss is least, until none moves. Returns whether one moved.
  bool descend(std::span<const float> gram) {
    constexpr int kSweeps = 8;
    bool has_moved = false;
    for (int sweep = 0; sweep < kSweeps; ++sweep) {
      bool moves = false;
      for (int64_t begin = 0; begin < shape_.depth; begin += kRows)
        moves = descend_rows(gram, begin, std::min(begin + kRows, shape_.depth)) || moves;
      if (!moves) break;
      has_moved = true;
    }
    return has_moved;
  }

  /// The same for some rows. Their products follow each move, those of all rows only the last one.
  bool descend_rows(std::span<const float> gram, int64_t begin, int64_t end) {
    const int64_t depth = shape_.depth;
    const auto first = products_.begin() + begin * columns_;
    std::vector<float> products(first, first + (end - begin) * columns_), moved(products.size());
    bool moves = false;
    for (int64_t k = begin; k < end; ++k) {
      const float* const row = gram.data() + k * depth;
      const int64_t at = (k - begin) * columns_;
      if (!(row[k] > 0) || !QQ_DISPATCH(qdq, move_codes)(view(), products.data() + at, {k, row[k]}, moved.data() + at))
        continue;
      moves = true;
      QQ_DISPATCH(numeric, add_product)
      ({products.data() + at + columns_, columns_}, {row + k + 1, depth}, {moved.data() + at, columns_},
       {end - k - 1, columns_, 1}, 1);
    }
    if (!moves) return false;
    QQ_DISPATCH(numeric, add_product)
    ({products_.data(), columns_}, {gram.data() + begin * depth, depth}, {moved.data(), columns_},
     {depth, columns_, end - begin}, 1);
    return true;
  }

  void keep(int64_t c, NBitsWeight& best) const {
    const int64_t column = begin_ + c;
    for (int64_t b = 0; b < blocks_; ++b) {
      best.scales[static_cast<size_t>(column * blocks_ + b)] = scale_[static_cast<size_t>(b * columns_ + c)];
      best.zeros[static_cast<size_t>(column * blocks_ + b)] = zero_[static_cast<size_t>(b * columns_ + c)];
    }
    uint8_t* const codes = best.codes.data() + column * blocks_ * shape_.block;
    for (int64_t k = 0; k < shape_.depth; ++k) codes[k] = codes_[static_cast<size_t>(k * columns_ + c)];
  }

  void move(bool is_symmetric, float rate) {
    QQ_DISPATCH(qdq, move_offsets)(view(), {products_.data(), scale_gradient_.data(), zero_gradient_.data()}, rate);
    for (size_t i = 0; i < ranges_.size(); ++i) {
      if (scale_[i] == 0) continue;
      BlockRange& range = ranges_[i];
      const float by_scale = scale_gradient_[i], largest = shape_.largest_code();
      if (is_symmetric) {
        step(range.low_factor, by_scale * scale_[i], rate);
        scale_[i] = numeric::normal_scale((range.high - range.low) / largest * range.low_factor);
        continue;
      }
      // The zero point is -low / scale.
      const float low = range.low * range.low_factor;
      const float slope = by_scale + zero_gradient_[i] * low / (scale_[i] * scale_[i]);
      step(range.low_factor, -slope * range.low / largest - zero_gradient_[i] * range.low / scale_[i], rate);
      step(range.high_factor, slope * range.high / largest, rate);
      const float new_low = range.low * range.low_factor;
      const float scale = numeric::normal_scale((range.high * range.high_factor - new_low) / largest);
      if (!std::isfinite(1.0f / scale)) continue;
      scale_[i] = scale;
      zero_[i] = shape_.nearest_code(-new_low / scale);
    }
  }

  static void step(float& factor, float gradient, float rate) {
    factor = std::clamp(factor - rate * sign(gradient), kNarrowest, kWidest);
  }

  const NBitsShape& shape_;
  int64_t begin_, columns_, blocks_;
  std::vector<float> weight_, offsets_, error_, products_;            ///< [depth, columns]
  std::vector<float> scale_, zero_, scale_gradient_, zero_gradient_;  ///< [blocks, columns]
  std::vector<uint8_t> codes_;
  std::vector<BlockRange> ranges_;
};

}  // namespace

NBitsWeight autoround_blocks(std::span<const float> weight, const NBitsShape& shape, const AutoRoundOptions& options) {
  QQ_CHECK(static_cast<int64_t>(options.gram.size()) == shape.depth * shape.depth);
  std::vector<float> moments(static_cast<size_t>(shape.depth));
  for (size_t k = 0; k < moments.size(); ++k) moments[k] = options.gram[k * moments.size() + k];
  NBitsWeight best = k_quant_blocks(weight, shape, {options.is_symmetric, moments});
  const NBitsWeight start = best;
  parallel_pieces(shape.columns, kColumns, {.share = Share::kAsFree},
                  [&](int64_t begin, int64_t end) { Piece(weight, shape, start, begin, end).learn(options, best); });
  return best;
}

namespace {

constexpr double kGramBytes = 1 << 30;  // held at once
/// Steps of matrices with few rows. Their time grows with the square of the rows, and coordinate descent alone comes
/// almost as far.
constexpr int64_t kSteps = 200, kMostRowsToLearn = 512;

int64_t depth_of(const pass::QdqContext& context, const LowBitMatrix& matrix) {
  return context.model.graph.value(matrix.target.weight).constant->dims()[0];
}

/// Matrices whose Gram matrices are computed in one run over the samples.
class Batch {
 public:
  Batch(pass::QdqContext& context, const config::MatMulNBitsSettings& options) : context_(context), options_(options) {
    const exec::Environment& environment = context.environment;
    if (environment.has_memory_ceiling()) limit_ = std::min(limit_, static_cast<double>(environment.memory_left()) / 4);
  }

  /// Returns whether there is room for the matrix. Matrices that read the same value share a Gram matrix.
  bool add(const LowBitMatrix& matrix) {
    const auto same = std::ranges::find(targets_, matrix.target.inputs, &pass::GptqTarget::inputs);
    members_.push_back({&matrix, static_cast<size_t>(same - targets_.begin())});
    if (same != targets_.end()) return true;
    const auto depth = static_cast<double>(depth_of(context_, matrix));
    bytes_ += depth * depth * sizeof(float);
    if (!targets_.empty() && bytes_ > limit_) {
      members_.pop_back();
      return false;
    }
    targets_.push_back(matrix.target);
    grams_.emplace_back(static_cast<int64_t>(depth));
    return true;
  }

  Status round(std::vector<PackedMatrix>& made) {
    const pass::GptqSamples samples =
        pass::gptq_samples(context_.settings, *context_.data, context_.environment, context_.progress);
    const auto observe = [&](size_t t, const std::vector<float>& values, int64_t /*first_dimension*/) {
      grams_[t].add(values, static_cast<int64_t>(values.size()) / grams_[t].depth());
      return Status();
    };
    QQ_RETURN_IF_ERROR(pass::observe_inputs(samples, context_.model, targets_, "AUTOROUND", observe));
    std::vector<std::vector<float>> whole;
    for (numeric::Gram& gram : grams_) whole.push_back(normalized(gram.take()));
    for (const auto& [matrix, gram] : members_) {
      made.push_back(round_one(*matrix, whole[gram]));
      if (context_.progress && !context_.progress(made.size(), made.size()))
        return Status(Code::kInterrupted, "interrupted");
    }
    return Status();
  }

 private:
  struct Member {
    const LowBitMatrix* matrix;
    size_t gram;
  };

  /// Divides by the mean of the diagonal, so that no product leaves the range of float32.
  static std::vector<float> normalized(std::vector<float> gram) {
    const auto depth = static_cast<size_t>(std::llround(std::sqrt(static_cast<double>(gram.size()))));
    double trace = 0;
    for (size_t k = 0; k < depth; ++k) trace += static_cast<double>(gram[k * depth + k]);
    const double mean = trace / static_cast<double>(depth);
    if (!(mean > std::numeric_limits<float>::min()) || !std::isfinite(mean)) return gram;
    for (float& value : gram) value = static_cast<float>(static_cast<double>(value) / mean);
    return gram;
  }

  PackedMatrix round_one(const LowBitMatrix& matrix, std::span<const float> gram) const {
    const ir::Graph& graph = context_.model.graph;
    const ir::FloatView values = ir::FloatView::of(*graph.value(matrix.target.weight).constant).value();
    PackedMatrix made{matrix.shape(graph), {}};
    made.has_zeros = !matrix.format.is_symmetric;
    const int64_t automatic = made.shape.depth <= kMostRowsToLearn ? kSteps : 0;
    const AutoRoundOptions options{matrix.format.is_symmetric, options_.steps.value_or(automatic), gram};
    made.weight = packed(autoround_blocks(values, made.shape, options), made.shape);
    return made;
  }

  pass::QdqContext& context_;
  const config::MatMulNBitsSettings& options_;
  double bytes_ = 0, limit_ = kGramBytes;
  std::vector<pass::GptqTarget> targets_;
  std::vector<numeric::Gram> grams_;
  std::vector<Member> members_;
};

}  // namespace

Result<std::vector<PackedMatrix>> pack_with_autoround(pass::QdqContext& context,
                                                      const config::MatMulNBitsSettings& options,
                                                      const std::vector<LowBitMatrix>& matrices) {
  if (context.data == nullptr || context.data->size() == 0)
    return invalid_argument("MatMulNBitsParams.Algorithm: AUTOROUND needs samples (--calib DIR)");
  std::vector<PackedMatrix> made;
  while (made.size() < matrices.size()) {
    Batch batch(context, options);
    for (size_t i = made.size(); i < matrices.size() && batch.add(matrices[i]);) ++i;
    QQ_RETURN_IF_ERROR(batch.round(made));
  }
  return made;
}

}  // namespace quarkq::qdq

// SPDX-License-Identifier: MIT
#include "planning/tune/train_layer.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/random.h"
#include "numeric/linear_quant.h"
#include "planning/tune/train_loops.h"

namespace quarkq::planning::finetune {
namespace {

/// The sum of part(begin, end) over chunks, in order.
template <typename Part>
double sum_in_chunks(int64_t count, Part part) {
  std::vector<double> parts(static_cast<size_t>((count + kResultChunk - 1) / kResultChunk));
#pragma omp parallel for schedule(static) if (parts.size() > 1)
  for (int64_t i = 0; i < static_cast<int64_t>(parts.size()); ++i)
    parts[static_cast<size_t>(i)] = part(i * kResultChunk, std::min(count, (i + 1) * kResultChunk));
  return std::accumulate(parts.begin(), parts.end(), 0.0);
}

/// The first `count` of a fresh random permutation of `all`, in place.
void draw(NumpyRandom& random, std::vector<size_t>& all, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    const int64_t other = random.integer(static_cast<int64_t>(i), static_cast<int64_t>(all.size()) - 1);
    std::swap(all[i], all[static_cast<size_t>(other)]);
  }
}

/// Stops a training whose windows no longer improve (ref:tuning#early-stop).
class EarlyStop {
 public:
  explicit EarlyStop(const config::FinetuneSettings& options)
      : is_on_(options.early_stop),
        first_(static_cast<int64_t>(std::ceil(options.warm_start * static_cast<double>(options.iterations)))),
        window_(std::max<int64_t>(1, options.num_batches > 1 ? options.num_batches : options.iterations / 10)) {}

  bool is_time(int64_t iteration, double loss) {
    if (!is_on_ || iteration < first_) return false;
    if (iteration % window_ != window_ - 1) {
      sum_ += loss;
      return false;
    }
    const double mean = sum_ / static_cast<double>(window_);
    if (mean >= best_) return true;
    best_ = mean;
    sum_ = 0;
    return false;
  }

 private:
  bool is_on_;
  int64_t first_, window_;
  double best_ = std::numeric_limits<double>::infinity(), sum_ = 0;
};

}  // namespace

Result<Block*> LayerTrainer::block_for(const ir::Shape& input) {
  for (const auto& block : blocks_)
    if (block->input() == input) return block.get();
  QQ_TRY(std::unique_ptr<Block> made, Block::make(t_.layer, t_.node, t_.weight_dims, input));
  blocks_.push_back(std::move(made));
  return blocks_.back().get();
}

const std::vector<float>& LayerTrainer::quantized(const std::vector<float>& result) {
  if (!t_.output) return result;
  quantized_.resize(result.size());
  const numeric::LinearParams params{t_.output->params.scale, t_.output->params.zero_point, t_.output->limits};
  QQ_DISPATCH(numeric, fake_quantize)
  (result.data(), quantized_.data(), static_cast<int64_t>(result.size()), params);
  return quantized_;
}

Result<double> LayerTrainer::error(const std::vector<float>& weights, const std::vector<float>& bias,
                                   const std::vector<size_t>& samples) {
  double square = 0, count = 0;
  for (const size_t index : samples) {
    QQ_TRY(const LayerData::Sample sample, t_.data.sample(index));
    QQ_TRY(Block* const block, block_for(sample.dims));
    if (block->result_size() != sample.target.size()) return unsupported("the float model's result differs");
    const std::vector<float>& y =
        quantized(block->forward(sample.input.data<float>().data(), weights, bias_or_none(bias)));
    const auto target = sample.target.data<float>();
    square += sum_in_chunks(static_cast<int64_t>(y.size()), [&](int64_t begin, int64_t end) {
      return QQ_DISPATCH(planning, squared_distance)(y.data(), target.data(), begin, end);
    });
    count += static_cast<double>(y.size());
  }
  return count > 0 ? square / count : 0.0;
}

Result<double> LayerTrainer::add_sample(const LayerData::Sample& sample, const float* x, int64_t positions,
                                        const Parameters& now, Gradients& gradients) {
  QQ_TRY(Block* const block, block_for(sample.dims));
  if (block->result_size() != sample.target.size()) return unsupported("the float model's result differs");
  const std::vector<float>& result = block->forward(x, now.weights, bias_or_none(now.bias));
  const std::vector<float>& y = quantized(result);
  dy_.resize(y.size());
  LossArrays loss{result.data(), y.data(), sample.target.data<float>().data(), dy_.data()};
  loss.factor = static_cast<float>(2.0 / static_cast<double>(positions));
  loss.low = -std::numeric_limits<float>::infinity();
  loss.high = -loss.low;
  if (t_.output) {
    const numeric::QuantParams& own = t_.output->params;
    loss.low = (static_cast<float>(t_.output->limits.min - own.zero_point) - 0.5f) * own.scale;
    loss.high = (static_cast<float>(t_.output->limits.max - own.zero_point) + 0.5f) * own.scale;
  }
  const double square = sum_in_chunks(static_cast<int64_t>(y.size()), [&](int64_t begin, int64_t end) {
    return QQ_DISPATCH(planning, loss_gradient)(loss, begin, end);
  });
  block->backward(x, dy_, gradients.weights, gradients.has_bias ? &gradients.bias : nullptr);
  return square / static_cast<double>(positions);
}

Status LayerTrainer::train(Variables& variables, const std::vector<size_t>& samples, uint32_t seed,
                           const std::function<bool()>& stop) {
  NumpyRandom random(seed);
  std::vector<size_t> order = samples;
  const size_t batch =
      static_cast<size_t>(options_.batch_size) > samples.size() ? 1 : static_cast<size_t>(options_.batch_size);
  EarlyStop early(options_);
  Parameters now{std::vector<float>(variables.weight_values().size()), t_.bias};
  Gradients gradients{std::vector<float>(now.weights.size()), std::vector<float>(now.bias.size())};
  std::vector<LayerData::Sample> drawn(batch);
  for (int64_t iteration = 0; iteration < options_.iterations; ++iteration) {
    QQ_RETURN_IF_ERROR(variables.current(now.weights, now.bias));
    draw(random, order, batch);
    int64_t positions = 0;
    for (size_t k = 0; k < batch; ++k) {
      QQ_TRY(drawn[k], t_.data.sample(order[k]));
      positions += drawn[k].positions;
    }
    std::fill(gradients.weights.begin(), gradients.weights.end(), 0.0f);
    std::fill(gradients.bias.begin(), gradients.bias.end(), 0.0f);
    double loss = 0;
    for (const LayerData::Sample& sample : drawn) {
      const float* x = sample.input.data<float>().data();
      if (sample.float_input.is_defined()) {
        const float* exact = sample.float_input.data<float>().data();
        mixed_.resize(static_cast<size_t>(sample.input.size()));
        for (size_t i = 0; i < mixed_.size(); ++i) mixed_[i] = random.uniform() < options_.drop_ratio ? x[i] : exact[i];
        x = mixed_.data();
      }
      gradients.has_bias = variables.learns_bias();
      QQ_TRY(const double part, add_sample(sample, x, positions, now, gradients));
      loss += part;
    }
    const double cost = variables.step(iteration, gradients.weights, gradients.bias);
    // AdaRound stops by its rounding cost: as long as that falls, weights are being decided.
    if (early.is_time(iteration, options_.algorithm == config::FinetuneAlgorithm::kAdaRound ? cost : loss)) break;
    if (iteration % 16 == 0 && stop && stop()) return Status(Code::kInterrupted, "interrupted");
  }
  return Status();
}

}  // namespace quarkq::planning::finetune

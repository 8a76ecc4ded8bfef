// SPDX-License-Identifier: MIT
#include "planning/tune/train_unit.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/parallel.h"
#include "exec/layout.h"
#include "ir/constants.h"
#include "numeric/linear_quant.h"
#include "plan/constant_codes.h"
#include "planning/tune/tape.h"
#include "planning/tune/train_loops.h"

namespace quarkq::planning::finetune {

namespace {

constexpr size_t kJudgeEvery = 8;  // one of so many samples is not trained with

}  // namespace

LayerData::~LayerData() {
  for (const auto* numbers : {&inputs_, &float_inputs_, &targets_})
    for (const int number : *numbers) store_.drop(number);
}

Result<ir::Tensor> LayerData::stored(const ir::Tensor& tensor) const {
  ir::Tensor floats = tensor;
  if (tensor.type() != ElementType::kFloat) {
    if (tensor.type() != ElementType::kFloat16) return unsupported("its values are not floats");
    QQ_TRY(const std::vector<float> values, ir::float_values(tensor));
    floats = ir::Tensor::from<float>(tensor.dims(), values);
  }
  return channels_last_ ? exec::in_layout(floats, exec::Layout::kChannelsLast) : floats;
}

Status LayerData::add_input(const ir::Tensor& input) {
  QQ_TRY(const ir::Tensor tensor, stored(input));
  QQ_TRY(const int number, store_.keep(tensor));
  inputs_.push_back(number);
  input_dims_.push_back(input.dims());
  input_bytes_ = std::max(input_bytes_, tensor.bytes());
  return Status();
}

Status LayerData::add_float_input(const ir::Tensor& input) {
  const size_t i = float_inputs_.size();
  if (i < input_dims_.size() && input_dims_[i] != input.dims()) return unsupported("the float model's input differs");
  QQ_TRY(const ir::Tensor tensor, stored(input));
  QQ_TRY(const int number, store_.keep(tensor));
  float_inputs_.push_back(number);
  return Status();
}

Status LayerData::add_target(const ir::Tensor& target) {
  if (target.rank() < 2) return unsupported("its result has less than two dimensions");
  QQ_TRY(const ir::Tensor tensor, stored(target));
  QQ_TRY(const int number, store_.keep(tensor));
  targets_.push_back(number);
  target_dims_.push_back(target.dims());
  target_bytes_ = std::max(target_bytes_, tensor.bytes());
  return Status();
}

Result<LayerData::Sample> LayerData::sample(size_t i) const {
  Sample sample;
  QQ_TRY(sample.input, store_.get(inputs_[i]));
  QQ_TRY(sample.target, store_.get(targets_[i]));
  if (i < float_inputs_.size()) {
    QQ_TRY(sample.float_input, store_.get(float_inputs_[i]));
  }
  sample.dims = input_dims_[i];
  sample.positions = target_dims_[i][1] == 0 ? 0 : sample.target.size() / target_dims_[i][1];
  return sample;
}

Partition partition(size_t samples, bool hold_out) {
  Partition parts;
  for (size_t i = 0; i < samples; ++i) {
    const bool judges = samples < kJudgeEvery ? i + 1 == samples : i % kJudgeEvery == kJudgeEvery - 1;
    (hold_out && samples > 1 && judges ? parts.judging : parts.training).push_back(i);
  }
  if (parts.judging.empty()) parts.judging = parts.training;
  return parts;
}

void clear(const UnitVariables& variables, Gradients& gradients) {
  for (size_t i = 0; i < variables.size(); ++i) {
    std::fill(gradients.layers[i].weights.begin(), gradients.layers[i].weights.end(), 0.0f);
    std::fill(gradients.layers[i].bias.begin(), gradients.layers[i].bias.end(), 0.0f);
    gradients.of_bias[i] = variables[i]->learns_bias();
  }
}

namespace {

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

Result<Tape*> UnitTrainer::tape_for(const LayerData::Sample& sample) {
  for (const auto& tape : tapes_)
    if (tape->input() == sample.dims) return tape.get();
  QQ_TRY(std::unique_ptr<Tape> made, Tape::make(t_.unit, t_.quantized, sample.dims));
  if (made->result_size() != sample.target.size()) return unsupported("the float model's result differs");
  tapes_.push_back(std::move(made));
  return tapes_.back().get();
}

const float* UnitTrainer::quantized(const float* result, int64_t size) {
  if (!t_.output) return result;
  quantized_.resize(static_cast<size_t>(size));
  const numeric::LinearParams params{t_.output->params.scale, t_.output->params.zero_point, t_.output->limits};
  QQ_DISPATCH(numeric, fake_quantize)(result, quantized_.data(), size, params);
  return quantized_.data();
}

Result<double> UnitTrainer::error(const std::vector<LayerValues>& layers, const std::vector<size_t>& samples) {
  double square = 0, count = 0;
  for (const size_t index : samples) {
    QQ_TRY(const LayerData::Sample sample, t_.data.sample(index));
    QQ_TRY(Tape* const tape, tape_for(sample));
    const int64_t size = tape->result_size();
    if (size != sample.target.size()) return unsupported("the float model's result differs");
    const float* const y = quantized(tape->forward(sample.input.data<float>().data(), layers, {}), size);
    const auto target = sample.target.data<float>();
    square += sum_in_chunks(size, 1, [&](int64_t begin, int64_t end) {
      return QQ_DISPATCH(planning, squared_distance)(y, target.data(), begin, end);
    });
    count += static_cast<double>(size);
  }
  return count > 0 ? square / count : 0.0;
}

Result<double> UnitTrainer::add_sample(const LayerData::Sample& sample, const float* x, int64_t positions,
                                       const Mixing& mixing, Gradients& gradients) {
  QQ_TRY(Tape* const tape, tape_for(sample));
  const int64_t size = tape->result_size();
  if (size != sample.target.size()) return unsupported("the float model's result differs");
  const float* const result = tape->forward(x, now_, mixing);
  const float* const y = quantized(result, size);
  LossArrays loss{result, y, sample.target.data<float>().data(), tape->result_gradient().data()};
  loss.factor = static_cast<float>(2.0 / static_cast<double>(positions));
  loss.low = -std::numeric_limits<float>::infinity();
  loss.high = -loss.low;
  if (t_.output) {
    const numeric::QuantParams& own = t_.output->params;
    loss.low = (static_cast<float>(t_.output->limits.min - own.zero_point) - 0.5f) * own.scale;
    loss.high = (static_cast<float>(t_.output->limits.max - own.zero_point) + 0.5f) * own.scale;
  }
  const double square = sum_in_chunks(
      size, 1, [&](int64_t begin, int64_t end) { return QQ_DISPATCH(planning, loss_gradient)(loss, begin, end); });
  tape->backward(now_, gradients);
  return square / static_cast<double>(positions);
}

/// A layer takes one draw of NumPy's generator after the other, a block draws by position (ADR 0011).
const float* UnitTrainer::mixed_input(const LayerData::Sample& sample, NumpyRandom& random, const Mixing& mixing) {
  const float* const x = sample.input.data<float>().data();
  if (!sample.float_input.is_defined()) return x;
  const float* const exact = sample.float_input.data<float>().data();
  mixed_.resize(static_cast<size_t>(sample.input.size()));
  if (t_.unit.is_block()) {
    const Draw draw{mixing.seed, draw_limit(mixing.rounded)};
    in_chunks(sample.input.size(), [&](int64_t begin, int64_t end) {
      QQ_DISPATCH(planning, mix)(x, exact, mixed_.data(), draw, {begin, end});
    });
  } else {
    for (size_t i = 0; i < mixed_.size(); ++i) mixed_[i] = random.uniform() < options_.drop_ratio ? x[i] : exact[i];
  }
  return mixed_.data();
}

Result<double> UnitTrainer::train_batch(const UnitVariables& variables, const std::vector<LayerData::Sample>& batch,
                                        NumpyRandom& random, Gradients& gradients) {
  int64_t positions = 0;
  for (const LayerData::Sample& sample : batch) positions += sample.positions;
  clear(variables, gradients);
  double loss = 0;
  for (const LayerData::Sample& sample : batch) {
    Mixing mixing;
    if (t_.unit.is_block() && options_.drop_ratio < 1)
      mixing = {options_.drop_ratio, static_cast<uint32_t>(random.integer(0, 0xfffffffe))};
    const float* const x = mixed_input(sample, random, mixing);
    QQ_TRY(const double part, add_sample(sample, x, positions, mixing, gradients));
    loss += part;
  }
  return loss;
}

Status UnitTrainer::train(const UnitVariables& variables, const std::vector<size_t>& samples, uint32_t seed,
                          const std::function<bool()>& stop) {
  NumpyRandom random(seed);
  std::vector<size_t> order = samples;
  const size_t batch =
      static_cast<size_t>(options_.batch_size) > samples.size() ? 1 : static_cast<size_t>(options_.batch_size);
  EarlyStop early(options_);
  now_ = t_.stored;
  for (size_t i = 0; i < variables.size(); ++i) now_[i].weights.resize(variables[i]->weight_values().size());
  Gradients gradients{now_, std::vector<bool>(now_.size())};
  std::vector<LayerData::Sample> drawn(batch);
  for (int64_t iteration = 0; iteration < options_.iterations; ++iteration) {
    for (size_t i = 0; i < variables.size(); ++i)
      QQ_RETURN_IF_ERROR(variables[i]->current(now_[i].weights, now_[i].bias));
    draw(random, order, batch);
    for (size_t k = 0; k < batch; ++k) {
      QQ_TRY(drawn[k], t_.data.sample(order[k]));
    }
    QQ_TRY(const double loss, train_batch(variables, drawn, random, gradients));
    double cost = 0;
    for (size_t i = 0; i < variables.size(); ++i)
      cost += variables[i]->step(iteration, gradients.layers[i].weights, gradients.layers[i].bias);
    // AdaRound stops by its rounding cost: as long as that falls, weights are being decided.
    if (early.is_time(iteration, options_.algorithm == config::FinetuneAlgorithm::kAdaRound ? cost : loss)) break;
    if (stop && stop()) return Status(Code::kInterrupted, "interrupted");
  }
  return Status();
}

}  // namespace quarkq::planning::finetune

// SPDX-License-Identifier: MIT
#include "planning/tune/network.h"

#include <algorithm>
#include <cmath>

#include "base/stopwatch.h"
#include "exec/layout.h"
#include "ir/constants.h"
#include "planning/tune/train_loops.h"

namespace quarkq::planning::finetune {

namespace {

constexpr double kCrops[] = {0.6, 0.7, 0.8, 0.9};  ///< Sides of crops, relative to the image.
constexpr int64_t kCropUnit = 32;                  ///< Sides of crops are multiples: networks halve sizes five times.
constexpr double kTooFar = 1.5;                    ///< After so many times the loss of the start, steps are too long.
constexpr double kShorter = 0.0625;                ///< Factor of the learning rate then.
constexpr uint64_t kShuffle = 0x5eed;              ///< Place of the draws that order the samples.

exec::SessionOptions fetching(std::vector<ir::ValueId> values) {
  exec::SessionOptions options;
  options.fetches = std::move(values);
  return options;
}

std::vector<ir::ValueId> teacher_values(const Network& network) {
  std::vector<ir::ValueId> values;
  for (const Target& target : network.targets) values.push_back(target.teacher);
  return values;
}

Result<ir::Tensor> as_floats(const ir::Tensor& tensor) {
  if (tensor.type() == ElementType::kFloat) return tensor;
  QQ_TRY(const std::vector<float> values, ir::float_values(tensor));
  return ir::Tensor::from<float>(tensor.dims(), values);
}

}  // namespace

NetworkTrainer::NetworkTrainer(const NetworkModels& models, const Network& network,
                               const config::FinetuneSettings& options, ir::TensorStore& store)
    : models_(models),
      network_(network),
      options_(options),
      store_(store),
      teacher_(models.teacher, models.environment, fetching(teacher_values(network))) {
  if (network.region.starts != models.quantized.graph.required_inputs())
    before_.emplace(models.quantized, models.environment, fetching(network.region.starts));
}

NetworkTrainer::~NetworkTrainer() {
  for (const std::vector<int>& numbers : samples_)
    for (const int number : numbers) store_.drop(number);
}

Status NetworkTrainer::prepare(size_t samples) {
  for (size_t i = 0; i < samples; ++i) {
    QQ_TRY(const calib::Sample read, models_.data.read(i));
    std::vector<int>& numbers = samples_.emplace_back();
    for (const ir::Tensor& input : read.inputs) {
      QQ_TRY(numbers.emplace_back(), store_.keep(input));
    }
  }
  QQ_TRY(const std::vector<ir::Tensor> first, sample(0));
  QQ_TRY(const Inputs inputs, inputs_for(first));
  QQ_RETURN_IF_ERROR(tape_for(inputs).status());
  const bool is_one = first.size() == 1 && first[0].type() == ElementType::kFloat;
  if (!options_.augment || !is_one) return Status();
  augmentation_ = Augmentation::of(first[0].dims());
  for (size_t i = 0; augmentation_ && i < samples; ++i) {
    QQ_TRY(const std::vector<ir::Tensor> other, sample(i));
    if (other[0].dims() != first[0].dims()) augmentation_.reset();
  }
  return augmentation_ ? allow_crops() : Status();
}

/// Crops are allowed where every output shrinks like the image.
Status NetworkTrainer::allow_crops() {
  QQ_TRY(const std::vector<ir::Tensor> whole, sample(0));
  for (const double share : kCrops) {
    const auto side = [&](int64_t size) {
      return static_cast<int64_t>(std::lround(share * static_cast<double>(size) / static_cast<double>(kCropUnit))) *
             kCropUnit;
    };
    const int64_t height = side(augmentation_->height()), width = side(augmentation_->width());
    const bool is_smaller = height < augmentation_->height() && width < augmentation_->width();
    if (height < kCropUnit || width < kCropUnit || !is_smaller) continue;
    const Status status = try_crop(height, width, whole);
    if (status.ok()) {
      augmentation_->allow_crop(height, width);
    } else if (status.code() == Code::kInterrupted) {
      return status;
    }
  }
  return Status();
}

Status NetworkTrainer::try_crop(int64_t height, int64_t width, const std::vector<ir::Tensor>& whole) {
  QQ_TRY(const Inputs full, inputs_for(whole));
  const ir::Tensor crop = augmentation_->changed(whole[0], {0, 0, height, width});
  QQ_TRY(const Inputs inputs, inputs_for({crop}));
  for (size_t i = 0; i < network_.targets.size(); ++i) {
    const int64_t small = inputs.targets[i].size() * augmentation_->height() * augmentation_->width();
    if (network_.targets[i].is_output && small != full.targets[i].size() * height * width)
      return unsupported("an output has the same size for a crop");
  }
  return tape_for(inputs).status();
}

Result<std::vector<ir::Tensor>> NetworkTrainer::sample(size_t i) const {
  std::vector<ir::Tensor> inputs;
  for (const int number : samples_[i]) {
    QQ_TRY(inputs.emplace_back(), store_.get(number));
  }
  return inputs;
}

Result<NetworkTrainer::Inputs> NetworkTrainer::inputs_for(const std::vector<ir::Tensor>& sample) {
  Inputs inputs;
  QQ_TRY(const std::vector<ir::Tensor>* const targets, teacher_.run(sample));
  for (const ir::Tensor& target : *targets) {
    QQ_TRY(inputs.targets.emplace_back(), as_floats(target));
  }
  const std::vector<ir::Tensor>* starts = &sample;
  if (before_) {
    QQ_TRY(starts, before_->run(sample));
  }
  for (const ir::Tensor& start : *starts) {
    QQ_TRY(const ir::Tensor floats, as_floats(start));
    inputs.starts.push_back(exec::in_layout(floats, exec::Layout::kChannelsLast));
  }
  return inputs;
}

Result<Tape*> NetworkTrainer::tape_for(const Inputs& inputs) {
  std::vector<ir::Shape> shapes;
  for (const ir::Tensor& start : inputs.starts)
    shapes.push_back(exec::logical_dims(start.dims(), exec::Layout::kChannelsLast));
  for (const auto& tape : tapes_) {
    bool same = true;
    for (size_t i = 0; i < shapes.size(); ++i) same = same && tape->input(i) == shapes[i];
    if (same) return tape.get();
  }
  QQ_TRY(std::unique_ptr<Tape> made, Tape::make(network_.region, models_.quantized, shapes, &pool_));
  for (size_t i = 0; i < network_.targets.size(); ++i)
    if (made->result(i).dims != inputs.targets[i].dims()) return unsupported("the float model's result differs");
  tapes_.push_back(std::move(made));
  return tapes_.back().get();
}

Result<double> NetworkTrainer::compare(Tape& tape, const Inputs& inputs, double share) {
  double sum = 0;
  for (size_t i = 0; i < network_.targets.size(); ++i) {
    const Target& target = network_.targets[i];
    if (share == 0 && !target.is_output) continue;
    const TapeValue& found = tape.result(i);
    if (found.dims != inputs.targets[i].dims()) return unsupported("the float model's result differs");
    const ir::Tensor wanted =
        exec::in_layout(inputs.targets[i], found.channels_last ? exec::Layout::kChannelsLast : exec::Layout::kPlain);
    const bool is_factored = found.channels_last && !target.factors.empty();
    const double count = static_cast<double>(std::max<int64_t>(1, found.size));
    TargetLoss loss{found.data, wanted.data<float>().data(), is_factored ? target.factors.data() : nullptr};
    loss.channels = is_factored ? static_cast<int64_t>(target.factors.size()) : 1;
    loss.gradient = share == 0 ? nullptr : tape.result_gradient(i).data();
    loss.weight = 1 / (count * target.power);
    loss.sigmoid_weight = target.sigmoid_power > 0 ? 1 / (count * target.sigmoid_power) : 0;
    loss.share = share;
    sum += sum_in_chunks(found.size, loss.channels, [&](int64_t begin, int64_t end) {
      return QQ_DISPATCH(planning, target_loss)(loss, begin, end);
    });
  }
  return sum;
}

Result<double> NetworkTrainer::error(const std::vector<LayerValues>& layers, const std::vector<size_t>& samples) {
  double sum = 0;
  for (const size_t index : samples) {
    QQ_TRY(const std::vector<ir::Tensor> given, sample(index));
    QQ_TRY(const Inputs inputs, inputs_for(given));
    QQ_TRY(Tape* const tape, tape_for(inputs));
    std::vector<const float*> starts;
    for (const ir::Tensor& start : inputs.starts) starts.push_back(start.data<float>().data());
    tape->forward(starts, layers, {}, Tape::Pass::kOnlyForward);
    QQ_TRY(const double loss, compare(*tape, inputs, 0));
    sum += loss;
  }
  return sum / static_cast<double>(std::max<size_t>(1, samples.size()));
}

namespace {

/// Returns the sample at `place` of the endless list in which every sample occurs once per round, in a drawn order.
size_t drawn_sample(uint32_t seed, uint64_t place, const std::vector<size_t>& samples) {
  const uint64_t round = place / samples.size();
  std::vector<size_t> order = samples;
  PlacedRandom random(seed, round, kShuffle);
  for (size_t i = order.size() - 1; i > 0; --i) std::swap(order[i], order[random.below(i + 1)]);
  return order[place % samples.size()];
}

}  // namespace

Result<double> NetworkTrainer::add_sample(int64_t step, size_t place, const std::vector<size_t>& samples,
                                          Gradients& gradients) {
  const auto batch = static_cast<uint64_t>(options_.batch_size);
  const uint64_t drawn = static_cast<uint64_t>(step) * batch + place;
  QQ_TRY(std::vector<ir::Tensor> given, sample(drawn_sample(options_.seed, drawn, samples)));
  if (augmentation_) {
    PlacedRandom random(options_.seed, static_cast<uint64_t>(step), place);
    given[0] = augmentation_->changed(given[0], augmentation_->draw(random));
  }
  QQ_TRY(const Inputs inputs, inputs_for(given));
  QQ_TRY(Tape* const tape, tape_for(inputs));
  std::vector<const float*> starts;
  for (const ir::Tensor& start : inputs.starts) starts.push_back(start.data<float>().data());
  tape->forward(starts, now_, {}, Tape::Pass::kTraining);
  QQ_TRY(const double loss, compare(*tape, inputs, 1 / static_cast<double>(batch)));
  tape->backward(now_, gradients);
  return loss;
}

Status NetworkTrainer::train(const UnitVariables& variables, const std::vector<LayerValues>& values,
                             const Partition& samples, Position at, const Hooks& hooks) {
  const Stopwatch watch;
  const int64_t first = at.step;
  now_ = values;
  Gradients gradients{now_, std::vector<bool>(now_.size())};
  while (at.step < options_.iterations) {
    QQ_RETURN_IF_ERROR(make_current(variables));
    clear(variables, gradients);
    for (size_t k = 0; k < static_cast<size_t>(options_.batch_size); ++k)
      QQ_RETURN_IF_ERROR(add_sample(at.step, k, samples.training, gradients).status());
    for (size_t i = 0; i < variables.size(); ++i)
      variables[i]->step(at.step, gradients.layers[i].weights, gradients.layers[i].bias);
    ++at.step;
    if (at.step % kJudgeSteps == 0 || at.step == options_.iterations)
      QQ_RETURN_IF_ERROR(judge(variables, samples.judging, at, hooks));
    const double each = watch.seconds() / static_cast<double>(at.step - first);
    const TrainingProgress progress{at.step, options_.iterations, static_cast<double>(options_.batch_size) / each,
                                    each * static_cast<double>(options_.iterations - at.step)};
    if (!hooks.progress(progress)) return Status(Code::kInterrupted, "interrupted");
  }
  return Status();
}

Status NetworkTrainer::judge(const UnitVariables& variables, const std::vector<size_t>& samples, Position& at,
                             const Hooks& hooks) {
  QQ_RETURN_IF_ERROR(make_current(variables));
  QQ_TRY(const double now, error(now_, samples));
  const bool is_first = at.step - at.begun <= kJudgeSteps;
  if (now < at.best) {
    at.best = now;
    QQ_RETURN_IF_ERROR(hooks.better(now));
  } else if (is_first && now > kTooFar * at.best && at.step < options_.iterations) {
    at.begun = at.step;
    at.rate_share *= kShorter;
    QQ_RETURN_IF_ERROR(hooks.restart(at.rate_share));
  }
  return at.step < options_.iterations ? hooks.save(at) : Status();
}

Status NetworkTrainer::make_current(const UnitVariables& variables) {
  for (size_t i = 0; i < variables.size(); ++i)
    QQ_RETURN_IF_ERROR(variables[i]->current(now_[i].weights, now_[i].bias));
  return Status();
}

}  // namespace quarkq::planning::finetune

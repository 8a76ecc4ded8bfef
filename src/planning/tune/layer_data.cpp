// SPDX-License-Identifier: MIT
#include "planning/tune/layer_data.h"
#include "ir/stored_floats.h"

#include <algorithm>

#include "exec/layout_convert.h"
#include "plan/constant_codes.h"

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

}  // namespace quarkq::planning::finetune

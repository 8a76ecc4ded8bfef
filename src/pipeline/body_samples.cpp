// SPDX-License-Identifier: MIT
#include "pipeline/body_samples.h"

#include <algorithm>

namespace quarkq::pipeline {
namespace {

constexpr size_t kMostCalls = 64;  // of one body: twice what calibration takes for enough samples

/// Memory of its own: the executor uses its buffers again.
ir::Tensor copied(const ir::Tensor& tensor) {
  ir::Tensor copy = tensor;
  copy.mutable_raw();
  return copy;
}

/// Every second call goes.
void thin(std::vector<BodyRecorder::Call>& calls) {
  for (size_t i = 1; 2 * i < calls.size(); ++i) calls[i] = std::move(calls[2 * i]);
  calls.resize((calls.size() + 1) / 2);
}

}  // namespace

Status BodyRecorder::on_call(const ir::Graph& body, std::span<const ir::ValueId> values,
                             std::span<const ir::Operand> operands) {
  const auto found = bodies_.find(&body);
  if (found == bodies_.end()) return Status();
  Calls& calls = found->second;
  if (calls.seen++ % calls.stride != 0) return Status();
  Call call;
  for (size_t i = 0; i < values.size(); ++i) {
    if (!operands[i].is_tensor() || operands[i].tensor.type() == ElementType::kString) return Status();
    call[values[i]] = copied(operands[i].tensor);
  }
  calls.kept.push_back(std::move(call));
  if (calls.kept.size() < kMostCalls) return Status();
  thin(calls.kept);
  calls.stride *= 2;
  return Status();
}

BodyReader::BodyReader(const std::vector<BodyRecorder::Call>& calls, const std::vector<ir::ValueId>& inputs) {
  for (const BodyRecorder::Call& call : calls) {
    if (!std::ranges::all_of(inputs, [&](ir::ValueId input) { return call.contains(input); })) continue;
    calib::Sample sample;
    sample.name = cat("call ", samples_.size());
    for (const ir::ValueId input : inputs) sample.inputs.push_back(call.at(input));
    samples_.push_back(std::move(sample));
  }
}

}  // namespace quarkq::pipeline

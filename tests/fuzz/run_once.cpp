// SPDX-License-Identifier: MIT
#include <algorithm>

#include "exec/environment.h"
#include "fuzz/fuzz_run.h"
#include "fuzz/model_inputs.h"
#include "onnx_io/load.h"
#include "pipeline/run/pass_runner.h"

namespace quarkq::fuzz {
namespace {

constexpr int64_t kMaxInput = 1 << 16;  ///< elements

/// A tensor as the model declares it; unknown dims become 2. Undefined when it would be large.
ir::Tensor make_input(const ir::ValueType& type) {
  ir::Shape dims;
  for (const ir::Dim& dim : type.dims) dims.push_back(dim.known() ? dim.size : 2);
  const Result<int64_t> count = ir::element_count(dims);
  if (!type.is_tensor() || bits(type.element) == 0 || !count.ok() || count.value() > kMaxInput) return {};
  ir::Tensor tensor = ir::Tensor::zeros(type.element, std::move(dims));
  const std::span<std::byte> bytes(tensor.mutable_raw(), static_cast<size_t>(tensor.bytes()));
  if (type.element == ElementType::kFloat) {
    float value = -1.0f;
    for (float& x : tensor.mutable_data<float>()) x = value += 0.37f;
  } else if (type.element == ElementType::kInt64) {
    int64_t value = 0;
    for (int64_t& x : tensor.mutable_data<int64_t>()) x = ++value % 3;
  } else {
    for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i % 2);
  }
  return tensor;
}

}  // namespace

std::optional<std::vector<ir::Operand>> make_inputs(const ir::Model& model) {
  std::vector<ir::Operand> inputs;
  for (const ir::ValueId input : model.graph.required_inputs()) {
    ir::Tensor tensor = make_input(model.graph.value(input).type);
    if (!tensor.is_defined()) return std::nullopt;
    inputs.emplace_back(std::move(tensor));
  }
  return inputs;
}

std::optional<std::vector<ir::Operand>> run_limited(const ir::Model& model, const std::vector<ir::Operand>& inputs) {
  exec::Session session(model, {}, {.fetches = {}, .taps = {}, .limits = kRunLimits});
  const Result<const std::vector<ir::Operand>*> found = session.run_operands(inputs);
  if (!found.ok()) return std::nullopt;
  return *found.value();
}

void run_once(const uint8_t* data, size_t size) {
  exec::set_threads(1);
  Result<ir::Model> model = onnx_io::load_bytes({reinterpret_cast<const char*>(data), size}, "fuzz");
  if (!model.ok()) return;
  Diagnostics ignored;
  if (!pipeline::prepare_for_run(model.value(), ignored).ok()) return;
  const auto inputs = make_inputs(model.value());
  if (!inputs) return;
  exec::Session session(model.value(), {}, {.fetches = {}, .taps = {}, .limits = kRunLimits});
  for (int run = 0; run < 2; ++run) {
    if (!session.run_operands(*inputs).ok()) return;
  }
}

}  // namespace quarkq::fuzz

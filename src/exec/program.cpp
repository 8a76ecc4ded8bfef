// SPDX-License-Identifier: MIT
#include "exec/program.h"

#include <cstring>

#include "exec/compile.h"

namespace quarkq::exec {

Status Program::announce(const Tap& tap, TapSink& sink) const {
  TensorView view;
  view.type = tap.spec.type;
  view.stored_dims = &tap.spec.dims;
  view.layout = tap.spec.layout;
  view.data = buffers_[static_cast<size_t>(tap.slot)];
  view.count = ir::checked_count(tap.spec.dims);
  return sink.on_value(tap.value, view);
}

Status Program::run(std::span<const ir::Tensor> inputs, TapSink* sink) {
  if (inputs.size() != feed_slots_.size()) {
    return bad_data("the model takes ", feed_slots_.size(), " inputs, ", inputs.size(), " were given");
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].type() != feeds_[i].type || inputs[i].dims() != feeds_[i].dims) {
      return bad_data("input ", feed_names_[i], ": ", name(inputs[i].type()), shape_text(inputs[i].dims()),
                      " was given, the program was compiled for ", name(feeds_[i].type), shape_text(feeds_[i].dims));
    }
    buffers_[static_cast<size_t>(feed_slots_[i])] = const_cast<std::byte*>(inputs[i].raw());
  }
  size_t next_tap = 0;
  auto announce_until = [&](int step) -> Status {
    for (; next_tap < taps_.size() && taps_[next_tap].after_step <= step; ++next_tap) {
      QQ_RETURN_IF_ERROR(announce(taps_[next_tap], *sink));
    }
    return Status();
  };
  if (sink != nullptr) QQ_RETURN_IF_ERROR(announce_until(-1));
  for (size_t s = 0; s < steps_.size(); ++s) {
    const Step& step = steps_[s];
    input_pointers_.clear();
    output_pointers_.clear();
    for (const int slot : step.inputs)
      input_pointers_.push_back(slot < 0 ? nullptr : buffers_[static_cast<size_t>(slot)]);
    for (const int slot : step.outputs)
      output_pointers_.push_back(slot < 0 ? nullptr : buffers_[static_cast<size_t>(slot)]);
    if (Status status = step.kernel({input_pointers_, output_pointers_, scratch_}); !status.ok()) {
      return std::move(status).context(step.label);
    }
    if (sink != nullptr) QQ_RETURN_IF_ERROR(announce_until(static_cast<int>(s)));
  }
  if (!dynamic_steps_.empty()) QQ_RETURN_IF_ERROR(run_dynamic(sink));
  for (size_t i = 0; i < fetch_slots_.size(); ++i) {
    if (fetch_slots_[i] < 0 || results_[i].bytes() == 0) continue;
    std::memcpy(results_[i].mutable_raw(), buffers_[static_cast<size_t>(fetch_slots_[i])],
                static_cast<size_t>(results_[i].bytes()));
  }
  return Status();
}

Status Program::run_dynamic(TapSink* sink) {
  for (size_t i = 0; i < dynamic_inputs_.size(); ++i) {
    const auto& [value, slot] = dynamic_inputs_[i];
    const Spec& spec = dynamic_input_specs_[i];
    // The buffer stays unchanged for the rest of the run, so the tensor may point at it without owning it.
    dynamic_values_[static_cast<size_t>(value.index)] =
        ir::Tensor::adopt(spec.type, spec.dims, std::shared_ptr<const void>(), buffers_[static_cast<size_t>(slot)]);
  }
  for (const DynamicStep& step : dynamic_steps_) {
    std::vector<Spec> specs(step.node->inputs.size());
    std::vector<bool> present(specs.size());
    for (size_t i = 0; i < specs.size(); ++i) {
      if (!step.node->inputs[i].valid()) continue;
      const ir::Tensor& tensor = dynamic_values_[static_cast<size_t>(step.node->inputs[i].index)];
      specs[i] = {tensor.type(), tensor.dims(), Layout::kPlain, &tensor};
      present[i] = true;
    }
    Prepare prepare(*step.node, step.label, step.opset, std::move(specs), std::move(present));
    QQ_TRY(Kernel kernel, step.op->prepare(prepare));
    if (!kernel) return internal_error(step.label, ": has no kernel even with all its inputs known");
    QQ_TRY(std::vector<ir::Tensor> outputs, run_prepared(prepare, kernel));
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (!step.node->outputs[i].valid()) continue;
      dynamic_values_[static_cast<size_t>(step.node->outputs[i].index)] = std::move(outputs[i]);
    }
  }
  if (sink != nullptr) {
    for (const ir::ValueId value : dynamic_taps_) {
      const ir::Tensor& tensor = dynamic_values_[static_cast<size_t>(value.index)];
      const ir::Shape dims = tensor.dims();
      QQ_RETURN_IF_ERROR(sink->on_value(value, {tensor.type(), &dims, Layout::kPlain, tensor.raw(), tensor.size()}));
    }
  }
  for (const auto& [position, value] : dynamic_fetches_) {
    results_[position] = dynamic_values_[static_cast<size_t>(value.index)];
  }
  return Status();
}

std::string Program::text() const {
  std::string out;
  for (const Step& step : steps_) {
    out += cat(step.label, " (", join(step.inputs, ","), ") -> (", join(step.outputs, ","), ")\n");
  }
  for (const DynamicStep& step : dynamic_steps_) out += cat("dynamic ", step.label, "\n");
  return out;
}

}  // namespace quarkq::exec

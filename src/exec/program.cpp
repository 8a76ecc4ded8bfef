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

/// When the results of the last run are still in use, this run writes into new memory.
void Program::take_result_memory() {
  for (size_t i = 0; i < result_slots_.size(); ++i) {
    if (result_slots_[i].empty()) continue;
    std::byte* const memory = results_[i].fresh_raw();
    for (const int slot : result_slots_[i]) buffers_[static_cast<size_t>(slot)] = memory;
  }
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
  take_result_memory();
  spills_.begin(buffers_);
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
    QQ_RETURN_IF_ERROR(spills_.read_before(static_cast<int>(s), buffers_));
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
    QQ_RETURN_IF_ERROR(spills_.write_after(static_cast<int>(s)));
  }
  QQ_RETURN_IF_ERROR(spills_.read_before(static_cast<int>(steps_.size()), buffers_));
  for (size_t i = 0; i < fetch_slots_.size(); ++i) {
    if (fetch_slots_[i] < 0 || !result_slots_[i].empty() || results_[i].bytes() == 0) continue;
    std::memcpy(results_[i].mutable_raw(), buffers_[static_cast<size_t>(fetch_slots_[i])],
                static_cast<size_t>(results_[i].bytes()));
  }
  return Status();
}

std::string Program::text() const {
  std::string out;
  for (const Step& step : steps_) {
    out += cat(step.label, " (", join(step.inputs, ","), ") -> (", join(step.outputs, ","), ")\n");
  }
  return out;
}

}  // namespace quarkq::exec

// SPDX-License-Identifier: MIT
// One pass over the samples; only tensors whose range is read are observed.
#include <algorithm>
#include <set>

#include "calib/run_calibration.h"
#include "passes/calibrate/range_sources.h"
#include "passes/passes.h"
#include "plan/flavors.h"

namespace quarkq::passes {
namespace {

/// Slots that need a range of their own: activations without a provider.
std::vector<plan::QuantSlot*> slots_to_measure(plan::QuantPlan& plan) {
  std::set<ir::ValueId> providers;
  for (const plan::QuantSlot& slot : plan.slots()) providers.insert(slot.provider);
  std::vector<plan::QuantSlot*> slots;
  for (plan::QuantSlot& slot : plan.slots()) {
    const bool provides = providers.contains(slot.value);
    if (slot.role != plan::Role::kActivation || slot.provider.valid()) continue;
    if (slot.state != plan::SlotState::kAbsorbed || provides) slots.push_back(&slot);
  }
  return slots;
}

calib::FinishOptions finish_options(const PassContext& context) {
  calib::FinishOptions options;
  options.spec.type = plan::element_type(context.settings.activation_type);
  options.spec.symmetric = context.settings.activation_symmetric;
  options.spec.scale = plan::activation_scale_kind(context.settings);
  options.symmetric_range = context.settings.calib_tensor_range_symmetric;
  options.moving_average = context.settings.calib_moving_average;
  return options;
}

}  // namespace

Result<Changed> calibrate_activations(PassContext& context) {
  const RangeSources sources = find_range_sources(context);
  const std::vector<plan::QuantSlot*> slots = slots_to_measure(context.plan);
  if (slots.empty()) return Changed::kNo;
  calib::CalibrationRequest request;
  request.calibrator = calib::find_calibrator(context.settings.calibrate_method);
  if (request.calibrator == nullptr) {
    return unsupported("calibrate_method ", config::enum_text(context.settings.calibrate_method),
                       ": known, not supported yet");
  }
  request.options = finish_options(context);
  request.progress = context.progress;
  for (const plan::QuantSlot* slot : slots) {
    const auto index = static_cast<size_t>(slot->value.index);
    if (!sources.unit[index]) request.tensors.push_back(sources.source[index]);
  }
  std::sort(request.tensors.begin(), request.tensors.end());
  request.tensors.erase(std::unique(request.tensors.begin(), request.tensors.end()), request.tensors.end());
  if (context.data == nullptr) {
    return bad_data("calibration samples are needed: give --calib DIR, or set UseRandomData=true to try without");
  }
  QQ_TRY(const calib::Ranges ranges, run_calibration(context.model, *context.data, request, context.diagnostics));
  for (plan::QuantSlot* slot : slots) {
    const auto index = static_cast<size_t>(slot->value.index);
    slot->range = sources.unit[index] ? numeric::Range{0.0f, 1.0f} : ranges.at(sources.source[index]);
    Result<numeric::QuantParams> params = numeric::params_for_range(slot->stages[0].spec, *slot->range);
    if (!params.ok()) return params.status().context(cat("tensor ", context.graph().value(slot->value).name));
    context.plan.params.set(slot->stages[0].params, {params.value()});
    if (slot->state == plan::SlotState::kPlanned) slot->state = plan::SlotState::kCalibrated;
  }
  return Changed::kYes;
}

}  // namespace quarkq::passes

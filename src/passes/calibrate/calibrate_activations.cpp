// SPDX-License-Identifier: MIT
// Ranges of activations: from a range file, from statistics, or from one pass over the samples.
#include "base/file_system.h"
#include "calib/histogram_file.h"
#include "calib/range_file.h"
#include "passes/calibrate/measured_tensors.h"
#include "passes/calibrate/method_settings.h"
#include "passes/passes.h"

namespace quarkq::passes {
namespace {

constexpr const char* kHistogramFolder = "tensor_hist";  // as the reference's, in the working directory

Result<calib::Ranges> restored_ranges(const PassContext& context, const std::vector<ir::ValueId>& tensors) {
  const std::string& path = *context.settings.save_and_restore;
  QQ_TRY(const calib::NamedRanges named, calib::load_ranges(path));
  calib::Ranges ranges;
  for (const ir::ValueId tensor : tensors) {
    const auto found = named.find(context.model.graph.value(tensor).name);
    if (found == named.end()) continue;
    ranges[tensor] = found->second;
  }
  return ranges;
}

Result<calib::Statistics> stored_statistics(const PassContext& context, const std::vector<ir::ValueId>& tensors) {
  calib::Statistics statistics;
  for (const ir::ValueId tensor : tensors) {
    const std::string& name = context.model.graph.value(tensor).name;
    const auto found = context.statistics->tensors.find(name);
    if (found == context.statistics->tensors.end()) {
      return bad_data("statistics: tensor ", name, " is not in them; calibrate again with these settings");
    }
    statistics.emplace(tensor, found->second);
  }
  return statistics;
}

/// Ranges by a default method.
Result<calib::Ranges> finished_ranges(PassContext& context, const std::vector<ir::ValueId>& tensors,
                                      calib::SampleRun* run) {
  calib::Statistics statistics;
  if (run == nullptr) {
    QQ_TRY(statistics, stored_statistics(context, tensors));
  } else {
    QQ_TRY(statistics, calib::collect_statistics(*run, tensors, collect_options(context.settings)));
  }
  const ir::Graph& graph = context.model.graph;
  const auto& names = run != nullptr ? run->sample_names() : context.statistics->samples;
  for (const auto& [tensor, seen] : statistics) {
    calib::report_non_finite(graph.value(tensor).name, seen, names, context.diagnostics);
  }
  QQ_TRY(const calib::Calibrator* const calibrator, asked_calibrator(context.settings));
  QQ_TRY(calib::Ranges ranges,
         calib::finish_ranges(graph, statistics, *calibrator, method_options(context.settings), context.diagnostics));
  if (!context.settings.save_tensor_hist_fig) return ranges;
  for (const auto& [tensor, seen] : statistics) {
    QQ_RETURN_IF_ERROR(calib::save_histogram(kHistogramFolder, graph.value(tensor).name, seen, ranges.at(tensor)));
  }
  return ranges;
}

Result<calib::Ranges> measured_ranges(PassContext& context, const std::vector<ir::ValueId>& tensors) {
  if (context.statistics != nullptr) return finished_ranges(context, tensors, nullptr);
  if (context.data == nullptr) {
    return bad_data("calibration samples are needed: give --calib DIR, or set UseRandomData=true to try without");
  }
  QQ_TRY(const calib::Calibrator* const calibrator, asked_calibrator(context.settings));
  calib::SampleRun run(context.model, *context.data, sample_run_options(context, tensors));
  if (!calibrator->is_compat()) return finished_ranges(context, tensors, &run);
  return calib::observe_ranges(run, context.model.graph, tensors, *calibrator, method_options(context.settings),
                               fallback_options(context.settings, calibrator->fallback), context.diagnostics);
}

/// The ranges, before Relu, Clip and Softmax adjust them; kept in a file when SaveAndRestore names one.
Result<calib::Ranges> find_ranges(PassContext& context, const std::vector<ir::ValueId>& tensors) {
  const auto& file = context.settings.save_and_restore;
  if (file && file_exists(*file)) return restored_ranges(context, tensors);
  QQ_TRY(calib::Ranges ranges, measured_ranges(context, tensors));
  if (!file) return ranges;
  calib::NamedRanges named;
  for (const auto& [tensor, range] : ranges) named[context.model.graph.value(tensor).name] = range;
  QQ_RETURN_IF_ERROR(calib::save_ranges(*file, named, context.settings.calibrate_method));
  return ranges;
}

/// Scale 1 where a format needs no range.
void fill_fixed_parameters(plan::QuantPlan& plan) {
  for (plan::QuantSlot& slot : plan.slots()) {
    if (slot.role != plan::Role::kActivation || slot.stages[0].spec.needs_range()) continue;
    plan.params.set(slot.stages[0].params, {numeric::QuantParams{}});
    if (slot.state == plan::SlotState::kPlanned) slot.state = plan::SlotState::kCalibrated;
  }
}

/// A range or parameters that the user gave for this tensor.
const plan::OverrideValues* given_values(const PassContext& context, const plan::QuantSlot& slot) {
  const plan::TensorOverride* own = plan::find_override(context.selection.overrides, slot.value);
  return own == nullptr || own->values.empty() ? nullptr : &own->values[0];
}

}  // namespace

Result<Changed> calibrate_activations(PassContext& context) {
  const RangeSources sources = find_range_sources(context);
  fill_fixed_parameters(context.plan);
  const std::vector<plan::QuantSlot*> slots = slots_to_measure(context.plan);
  if (slots.empty()) return Changed::kNo;
  QQ_TRY(const calib::Ranges ranges, find_ranges(context, tensors_to_measure(context, sources)));
  for (plan::QuantSlot* slot : slots) {
    const auto index = static_cast<size_t>(slot->value.index);
    const auto found = ranges.find(sources.source[index]);
    if (!sources.unit[index] && found == ranges.end()) {
      return bad_data(*context.settings.save_and_restore, ": has no range of tensor ",
                      context.graph().value(sources.source[index]).name);
    }
    slot->range = sources.unit[index] ? numeric::Range{0.0f, 1.0f} : found->second;
    const plan::OverrideValues* given = given_values(context, *slot);
    if (given != nullptr && given->min) slot->range = numeric::Range{*given->min, *given->max};
    Result<numeric::QuantParams> params = numeric::params_for_range(slot->stages[0].spec, *slot->range);
    if (!params.ok()) return params.status().context(cat("tensor ", context.graph().value(slot->value).name));
    if (given != nullptr && given->params) params = *given->params;
    context.plan.params.set(slot->stages[0].params, {params.value()});
    if (slot->state == plan::SlotState::kPlanned) slot->state = plan::SlotState::kCalibrated;
  }
  return Changed::kYes;
}

}  // namespace quarkq::passes

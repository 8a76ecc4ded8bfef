// SPDX-License-Identifier: MIT
// Ranges of activations: from a range file, from statistics, or from one pass over the samples.
#include <algorithm>

#include "base/file_system.h"
#include "calib/range_file.h"
#include "ir/graph_analysis.h"
#include "pass/context.h"
#include "planning/calibrate/measured_ranges.h"
#include "planning/passes.h"

namespace quarkq::planning {
namespace {

constexpr const char* kHistogramFolder = "tensor_hist";  // The reference's folder, in the working directory.

/// Results of calibration: ranges, and the tensors that contained NaN or infinities.
using pass::Measured;

Result<Measured> restored_ranges(const pass::PlanContext& context, const std::vector<ir::ValueId>& tensors) {
  const std::string& path = *context.settings.ranges.save_and_restore;
  QQ_TRY(const calib::NamedRanges named, calib::load_ranges(path));
  Measured restored;
  for (const ir::ValueId tensor : tensors) {
    const auto found = named.find(context.model.graph.value(tensor).name);
    if (found == named.end()) continue;
    restored.ranges[tensor] = found->second;
  }
  return restored;
}

Result<calib::Statistics> stored_statistics(const pass::PlanContext& context, const std::vector<ir::ValueId>& tensors) {
  calib::Statistics statistics;
  for (const ir::ValueId tensor : tensors) {
    const std::string& name = context.model.graph.value(tensor).name;
    const auto found = context.source.statistics->tensors.find(name);
    if (found == context.source.statistics->tensors.end()) {
      return bad_data("statistics: tensor ", name, " is not in them; calibrate again with these settings");
    }
    statistics.emplace(tensor, found->second);
  }
  return statistics;
}

/// After few samples.
void give_headroom(pass::PlanContext& context, const calib::Statistics& statistics, calib::Ranges& ranges) {
  size_t widened = 0;
  for (auto& [tensor, range] : ranges) {
    const numeric::Range measured = range;
    range = expected_range(context, tensor, statistics.at(tensor), measured);
    widened += range == measured ? 0 : 1;
  }
  if (widened == 0) return;
  context.diagnostics.add("guard-few-samples", "",
                          cat("the ranges of ", widened, " of ", ranges.size(),
                              " activations were widened: so few samples do not show the largest values"));
}

/// Tensors that held NaN or infinities. Those are reported, except for masks, whose infinities are intended.
std::set<ir::ValueId> find_not_finite(pass::PlanContext& context, const calib::Statistics& statistics,
                                      const std::map<uint64_t, std::string>& names) {
  std::set<ir::ValueId> found;
  for (const auto& [tensor, seen] : statistics) {
    if (seen.not_finite() > 0) found.insert(tensor);
  }
  const ir::Graph& graph = context.model.graph;
  std::vector<bool> masks(graph.value_count()), subtracted = masks;
  if (context.settings.guards() && !found.empty()) {
    masks = ir::feeds_softmax_only(graph);
    subtracted = subtracted_before_softmax(graph, masks);
  }
  for (const ir::ValueId tensor : found) {
    const auto index = static_cast<size_t>(tensor.index);
    if (!masks[index] && !subtracted[index])
      calib::report_non_finite(graph.value(tensor).name, statistics.at(tensor), names, context.diagnostics);
  }
  return found;
}

/// Ranges by a default method.
Result<Measured> finished_ranges(pass::PlanContext& context, const std::vector<ir::ValueId>& tensors,
                                 calib::SampleRun* run) {
  calib::Statistics statistics;
  if (run == nullptr) {
    QQ_TRY(statistics, stored_statistics(context, tensors));
  } else {
    QQ_TRY(statistics, calib::collect_statistics(*run, tensors, pass::collect_options(context.settings)));
  }
  const ir::Graph& graph = context.model.graph;
  Measured found;
  const auto& names = run != nullptr ? run->sample_names() : context.source.statistics->samples;
  found.not_finite = find_not_finite(context, statistics, names);
  QQ_TRY(const calib::Calibrator* const calibrator, pass::asked_calibrator(context.settings));
  QQ_TRY(found.ranges, calib::finish_ranges(graph, statistics, *calibrator, pass::method_options(context.settings),
                                            context.diagnostics));
  give_headroom(context, statistics, found.ranges);
  if (!context.settings.ranges.save_tensor_hist_fig) return found;
  calib::HistogramFolder folder(kHistogramFolder);
  for (const auto& [tensor, seen] : statistics) {
    QQ_RETURN_IF_ERROR(folder.save(graph.value(tensor).name, seen, found.ranges.at(tensor)));
  }
  return found;
}

Result<Measured> measured_ranges(pass::PlanContext& context, const std::vector<ir::ValueId>& tensors) {
  if (context.source.statistics != nullptr) return finished_ranges(context, tensors, nullptr);
  if (context.source.data == nullptr) {
    return bad_data("calibration samples are needed: pass --calib DIR, or set UseRandomData=true to try without");
  }
  QQ_TRY(const calib::Calibrator* const calibrator, pass::asked_calibrator(context.settings));
  calib::SampleRun run(context.model, *context.source.data, context.environment,
                       pass::sample_run_options(context.environment, context.settings, tensors, context.progress));
  if (!calibrator->is_compat()) return finished_ranges(context, tensors, &run);
  const calib::CompatMethod method{*calibrator, pass::method_options(context.settings),
                                   pass::fallback_options(context.settings, calibrator->fallback)};
  Measured found;
  QQ_TRY(found.ranges, calib::observe_ranges(run, context.model.graph, tensors, method, context.diagnostics));
  return found;
}

/// Runs measured_ranges() for tensors that no earlier run of this pass measured. Findings of earlier runs are reported
/// again, because they also apply to this plan.
Result<Measured> all_ranges(pass::PlanContext& context, const std::vector<ir::ValueId>& tensors) {
  if (context.measured == nullptr) return measured_ranges(context, tensors);
  Measured& known = *context.measured;
  for (const Diagnostic& finding : known.findings) context.diagnostics.add(finding);
  std::vector<ir::ValueId> missing;
  for (const ir::ValueId tensor : tensors) {
    if (!known.ranges.contains(tensor)) missing.push_back(tensor);
  }
  if (missing.empty()) return known;
  const size_t reported = context.diagnostics.all().size();
  QQ_TRY(const Measured found, measured_ranges(context, missing));
  known.ranges.insert(found.ranges.begin(), found.ranges.end());
  known.not_finite.insert(found.not_finite.begin(), found.not_finite.end());
  const std::vector<Diagnostic>& all = context.diagnostics.all();
  known.findings.insert(known.findings.end(), all.begin() + static_cast<std::ptrdiff_t>(reported), all.end());
  return known;
}

/// The ranges, before Relu, Clip and Softmax adjust them; kept in a file when SaveAndRestore names one.
Result<Measured> find_ranges(pass::PlanContext& context, const std::vector<ir::ValueId>& tensors) {
  const auto& file = context.settings.ranges.save_and_restore;
  if (file && file_exists(*file)) {
    QQ_TRY(Measured restored, restored_ranges(context, tensors));
    if (context.measured != nullptr) context.measured->ranges = restored.ranges;
    return restored;
  }
  QQ_TRY(Measured found, all_ranges(context, tensors));
  if (!file) return found;
  calib::NamedRanges named;
  for (const auto& [tensor, range] : found.ranges) named[context.model.graph.value(tensor).name] = range;
  QQ_RETURN_IF_ERROR(calib::save_ranges(*file, named, context.settings.ranges.calibrate_method));
  return found;
}

/// Scale 1 where a format needs no range.
void fill_fixed_parameters(plan::QuantPlan& plan) {
  for (plan::QuantSlot& slot : plan.slots()) {
    if (slot.role != plan::Role::kActivation || slot.stage.spec.needs_range()) continue;
    plan.params.set(slot.stage.params, {numeric::QuantParams{}});
    if (slot.state == plan::SlotState::kPlanned) slot.state = plan::SlotState::kCalibrated;
  }
}

/// Ends ranges where the readers of their tensors saturate.
class Saturation {
 public:
  explicit Saturation(const pass::PlanContext& context) {
    if (context.settings.guards()) useful_ = ranges_before_saturation(context.graph());
  }

  numeric::Range apply(const plan::QuantSlot& slot, numeric::Range range) {
    const bool is_narrow = is_integer(slot.stage.spec.type) && bits(slot.stage.spec.type) <= 8;
    if (!is_narrow || useful_.empty()) return range;
    const std::optional<numeric::Range>& useful = useful_[static_cast<size_t>(slot.value.index)];
    if (!useful || (range.min >= useful->min && range.max <= useful->max)) return range;
    ++narrowed_;
    return {std::clamp(range.min, useful->min, useful->max), std::clamp(range.max, useful->min, useful->max)};
  }
  size_t narrowed() const { return narrowed_; }

 private:
  std::vector<std::optional<numeric::Range>> useful_;  ///< Indexed by value id; empty if guards are off.
  size_t narrowed_ = 0;
};

/// A range or parameters that the user gave for this tensor.
const config::OverrideValues* given_values(const pass::PlanContext& context, const plan::QuantSlot& slot) {
  const config::TensorOverride* own = plan::find_override(context.selection.overrides, slot.value);
  return own == nullptr || own->values.empty() ? nullptr : &own->values[0];
}

}  // namespace

Result<Changed> calibrate_activations(pass::PlanContext& context) {
  const RangeSources sources = find_range_sources(context);
  fill_fixed_parameters(context.plan);
  const std::vector<plan::QuantSlot*> slots = slots_to_measure(context.plan);
  if (slots.empty()) return Changed::kNo;
  QQ_TRY(const Measured measured, find_ranges(context, tensors_to_measure(context, sources)));
  const calib::Ranges& ranges = measured.ranges;
  Saturation saturation(context);
  for (plan::QuantSlot* slot : slots) {
    const auto index = static_cast<size_t>(slot->value.index);
    const auto found = ranges.find(sources.source[index]);
    if (!sources.unit[index] && found == ranges.end()) {
      return bad_data(*context.settings.ranges.save_and_restore, ": has no range of tensor ",
                      context.graph().value(sources.source[index]).name);
    }
    slot->range = sources.unit[index] ? numeric::Range{0.0f, 1.0f}
                                      : with_headroom(context, sources.source[index], slot->stage.spec, found->second);
    slot->range = saturation.apply(*slot, *slot->range);
    slot->seen_not_finite = measured.not_finite.contains(slot->value);
    const config::OverrideValues* given = given_values(context, *slot);
    if (given != nullptr && given->min) slot->range = numeric::Range{*given->min, *given->max};
    Result<numeric::QuantParams> params = numeric::params_for_range(slot->stage.spec, *slot->range);
    if (!params.ok()) return params.status().context(cat("tensor ", context.graph().value(slot->value).name));
    if (given != nullptr && given->params) params = *given->params;
    context.plan.params.set(slot->stage.params, {params.value()});
    if (slot->state == plan::SlotState::kPlanned) slot->state = plan::SlotState::kCalibrated;
  }
  if (saturation.narrowed() > 0) {
    context.diagnostics.add("guard-saturation", "",
                            cat("the ranges of ", saturation.narrowed(), " of ", slots.size(),
                                " activations end where the Sigmoid, HardSigmoid or Tanh that reads them saturates"));
  }
  return Changed::kYes;
}

}  // namespace quarkq::planning

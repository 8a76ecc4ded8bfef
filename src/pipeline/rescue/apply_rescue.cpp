// SPDX-License-Identifier: MIT
#include "pipeline/rescue/apply_rescue.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <numeric>
#include <set>
#include <utility>

#include "base/file_system.h"
#include "base/paths.h"
#include "base/run_files.h"
#include "base/stopwatch.h"
#include "calib/sample_readers.h"
#include "compare/output_kinds.h"
#include "config/load.h"
#include "config/print.h"
#include "config/targets/target.h"
#include "ir/graph_analysis.h"
#include "ir/traversal.h"
#include "pipeline/report/check_target.h"
#include "pipeline/report/verify.h"
#include "pipeline/rescue/describe.h"
#include "pipeline/rescue/remedies.h"
#include "pipeline/rescue/search.h"
#include "pipeline/run/part_plans.h"
#include "pipeline/run/write_plan.h"

namespace quarkq::pipeline {
namespace {

/// Returns the name of the file with the settings of a rescue that named single nodes or tensors. Returns an empty text
/// if options say the same, if settings cannot, or if the run writes no such file.
std::string rescued_settings_path(const Run& run, const RescueReport& report) {
  const bool names_parts = !report.float_nodes.empty() || !report.tensors_in_16_bits.empty();
  if (!names_parts || report.unnamed_float_nodes > 0) return "";
  if (run.request.in_memory || run.state.settings.runtime.crypto_mode) return "";
  const std::string path = paths::with_suffix(run.report.output_path, ".rescued.yaml");
  return check_not_input(path).ok() ? path : "";
}

void report_rescue(Run& run, RescueReport report) {
  report.settings_path = rescued_settings_path(run, report);
  run.state.diagnostics.add("rescued", "", rescue_text(report));
  run.report.rescue = std::move(report);
}

/// The plan that the rescue found is written in place of the first one.
Status write_again(Run& run, const Rescued& rescued) {
  RunState accepted = rescued.trial->state;
  accepted.measured = std::move(run.state.measured);
  accepted.tuning = std::move(run.state.tuning);
  run.state = std::move(accepted);
  QQ_RETURN_IF_ERROR(write_plan(run.state, run.report.phases, run.options()));
  report_rescue(run, rescued.report);
  return check_written(run);
}

using RuleNames = std::set<std::string>;

/// Rules by which the target refuses a result, and "in-parts" if much of it stays on the CPU. Empty without a target,
/// and if the user allows what it refuses.
RuleNames refusals_of(const ir::Model& result, const config::Settings& settings) {
  RuleNames rules;
  if (settings.allows_float()) return rules;
  Diagnostics ignored;
  const Result<std::optional<TargetReport>> judged = judge_target(result, "", settings, ignored);
  if (!judged.ok() || !judged.value()) return rules;
  for (const TargetFinding& finding : judged.value()->findings)
    if (is_refusal(finding.reason.effect)) rules.insert(finding.reason.rule);
  if (!judged.value()->counts.is_whole()) rules.insert("in-parts");
  return rules;
}

/// Returns the refusals of a plan that is not written yet. A plan that cannot be written is refused.
RuleNames refusals_of(const RunState& planned) {
  if (!planned.settings.target) return {};
  RunState written = trial_of(planned);
  std::vector<PassTime> times;
  if (const Status status = write_plan(written, times, {}); !status.ok()) return {status.message()};
  return refusals_of(written.model, written.settings);
}

/// The way for weights with the least noise; absent if none was tried.
std::optional<WeightRemedy> best_of(const WeightTrials& tried) {
  const auto best =
      std::ranges::max_element(tried, std::ranges::less{}, [](const auto& one) { return one.second->outputs.sqnr_db; });
  return best == tried.end() ? std::nullopt : std::optional(best->first);
}

/// A plan with float remedies that the state of the run does not have.
struct FloatTrial {
  Trial trial;
  std::vector<const FloatRemedy*> remedies;
};

/// Tries a remedy on the state of the run. If it is not open there, tries it together with the remedy tried last that
/// was not kept: equalization needs the Clips that another remedy keeps.
Result<std::optional<FloatTrial>> try_alone_or_with(const FloatRemedy& remedy, Run& run,
                                                    const std::optional<FloatTrial>& not_kept, const FloatRun& again) {
  QQ_TRY(std::optional<Trial> alone, try_remedy(remedy, run.state, again, run.options()));
  if (alone) return std::optional(FloatTrial{std::move(*alone), {&remedy}});
  if (!not_kept) return std::optional<FloatTrial>();
  QQ_TRY(std::optional<Trial> both, try_remedy(remedy, not_kept->trial.state, again, run.options()));
  if (!both) return std::optional<FloatTrial>();
  FloatTrial found{std::move(*both), not_kept->remedies};
  found.remedies.push_back(&remedy);
  return std::optional(std::move(found));
}

/// Other rounding first, then another float model by the remedies that `is_allowed` names, then other formats. Another
/// float model must not be refused by the target for other reasons than `refused`, the reasons for the plain result.
Result<std::optional<Rescued>> search_with(Run& run, RescueInputs inputs, const RuleNames& refused,
                                           bool (*is_allowed)(const FloatRemedy& remedy)) {
  run.state.tuning.rounded = std::make_shared<pass::RoundingCache>();
  WeightTrials tried;  // on the float model as it is now
  inputs.tried = &tried;
  QQ_TRY(std::optional<Rescued> rounded, find_rounding(inputs));
  if (!run.is_poor) return rounded;
  const bool was_enough =
      rounded && is_enough(rounded->report.after, run.state.settings) && rounded->report.after.task == Grade::kGood;
  const FloatRun again{run.loaded, run.source, inputs.expected, run.report.phases};
  Agreement now = inputs.before, best = rounded ? rounded->report.after : now;
  // What a remedy gives may show with compensated weights only.
  const std::optional<WeightRemedy> proven = rounded ? rounded->remedies.weights : best_of(tried);
  const auto keeps = [&](const Trial& trial) {
    WeightTrials trials;
    const RescueInputs with{.state = trial.state,
                            .loaded = inputs.loaded,
                            .expected = inputs.expected,
                            .few = inputs.few,
                            .hard = inputs.hard,
                            .before = trial.outputs,
                            .applied = inputs.applied,
                            .next_trial = inputs.next_trial,
                            .is_placed_alike = {},
                            .tried = &trials,
                            .proven = proven ? &*proven : nullptr};
    const Result<std::optional<Rescued>> found = find_rounding(with);
    const Agreement& reached = found.ok() && found.value() ? found.value()->report.after : trial.outputs;
    const bool is_best = is_better(reached, best);
    if (is_best) best = reached;
    const bool is_kept = is_best || (is_better(trial.outputs, now) && !is_better(best, reached));
    if (is_kept) tried = std::move(trials);
    return is_kept;
  };
  std::optional<FloatTrial> not_kept;
  for (const FloatRemedy& remedy : float_remedies()) {
    if (was_enough || !is_allowed(remedy)) continue;
    QQ_TRY(std::optional<FloatTrial> tried_now, try_alone_or_with(remedy, run, not_kept, again));
    if (!tried_now || !std::ranges::includes(refused, refusals_of(tried_now->trial.state))) continue;
    if (!keeps(tried_now->trial)) {
      not_kept = std::move(tried_now);
      continue;
    }
    not_kept.reset();
    run.state = std::move(tried_now->trial.state);
    std::ranges::copy(tried_now->remedies, std::back_inserter(inputs.applied));
    now = tried_now->trial.outputs;
  }
  if (!inputs.applied.empty()) {
    QQ_TRY(rounded, find_rounding(inputs));
  }
  inputs.is_placed_alike = [&](const RunState& planned) {
    return std::ranges::includes(refused, refusals_of(planned));
  };
  return find_formats(inputs, rounded);
}

bool is_settled(const Rescued& rescued, const config::Settings& settings) {
  return is_enough(rescued.report.after, settings) && rescued.remedies.left_float.empty();
}

/// What brings the outputs closer. Searched ranges help with the values that are frequent. If the result is still not
/// enough, or has float nodes, rare values may matter, and the search is repeated without them.
Result<std::optional<Rescued>> search_rescue(Run& run, const RescueInputs& inputs, const RuleNames& refused) {
  const RunState start = run.state;
  QQ_TRY(std::optional<Rescued> found, search_with(run, inputs, refused, [](const FloatRemedy&) { return true; }));
  const bool has_searched = found && std::ranges::count(found->report.float_changes, kSearchedRanges) > 0;
  if (!has_searched || is_settled(*found, start.settings)) return found;
  RunState searched = std::exchange(run.state, start);
  QQ_TRY(std::optional<Rescued> other, search_with(run, inputs, refused, [](const FloatRemedy& remedy) {
           return remedy.setting != kSearchedRanges;
         }));
  if (other && (is_settled(*other, start.settings) || is_better(other->report.after, found->report.after)))
    return other;
  run.state = std::move(searched);
  return found;
}

/// The search as one phase of the run, which counts its trials.
Result<std::optional<Rescued>> find_rescue(Run& run, const RescueInputs& inputs, const RuleNames& refused) {
  const Stopwatch watch;
  run.phase = "rescue";
  run.trials = 0;
  run.most_trials = kMostRoundingTrials;
  if (run.is_poor)
    run.most_trials += 2 * (float_remedies().size() * kMostRoundingTrials +
                            most_format_trials(run.state.calibrated->graph.order().size()));
  Result<std::optional<Rescued>> found = search_rescue(run, inputs, refused);
  run.most_trials = 0;
  if (found.ok() && found.value()) found.value()->report.seconds = watch.seconds();
  return found;
}

/// An output is a choice for each of several rows.
bool chooses_rows(const ir::Model& model) {
  const std::vector<ir::ValueId>& outputs = model.graph.outputs();
  return std::ranges::any_of(outputs, [&](ir::ValueId output) {
    return compare::makes_choices(model, output) && ir::rank_of(model.graph, output).value_or(0) > 2;
  });
}

constexpr double kMacsOfSmallModel = 1e9;

/// Outputs of the float model on calibration samples, by which remedies are judged.
struct Judges {
  compare::ExpectedOutputs known;                     ///< All samples of a choice.
  compare::ExpectedOutputs all;                       ///< Plans are judged on these.
  compare::ExpectedOutputs few;                       ///< Nodes are ranked by these.
  std::optional<compare::ExpectedOutputs> hard = {};  ///< The samples of `known` that each output was worst on.
};

Result<Judges> make_judges(const Run& run, const ir::Model& body) {
  QQ_TRY(const ir::Model original, whole_model(body, run.state.tail));
  const calib::DataReader& data = *run.source.samples.get();
  const std::vector<size_t> chosen = compare::sample_roles(data.size(), 0).chosen;
  QQ_TRY(compare::ExpectedOutputs known,
         compare::ExpectedOutputs::make(original, prepare_for_run, {data, run.state.environment, chosen}));
  // A plan that is right on four samples can be wrong on others, and in one row of a hundred.
  const bool is_small = ir::macs_of(original.graph) <= kMacsOfSmallModel;
  const size_t kept = is_small || chooses_rows(original) ? compare::kMostChosen : 4;
  std::vector<size_t> places(known.sample_count());
  std::iota(places.begin(), places.end(), size_t{0});
  places = compare::drawn_samples(places, kept);
  compare::ExpectedOutputs all = known.part(places);
  places = compare::drawn_samples(places, 2);
  compare::ExpectedOutputs few = known.part(places);
  return Judges{std::move(known), std::move(all), std::move(few)};
}

/// Finds the samples that the outputs of `written` are worst on. `outputs`: their agreement with `judges.all`.
Status find_hard(const ir::Model& written, std::vector<OutputAgreement> outputs, Judges& judges) {
  Diagnostics ignored;
  if (judges.all.sample_count() < judges.known.sample_count()) {
    QQ_TRY(outputs, judges.known.compare(written, ignored));
  }
  std::vector<size_t> places;
  for (const OutputAgreement& output : outputs)
    if (!output.near_zero) places.push_back(judges.known.place_of(output.worst_sample));
  std::ranges::sort(places);
  places.erase(std::unique(places.begin(), places.end()), places.end());
  if (!places.empty()) judges.hard = judges.known.part(places);
  return Status();
}

/// Operators that the table of the target marks for 8 bits only stay in 8 bits. Empty without such a target.
std::function<bool(const ir::Node&)> wide_placement(const config::Settings& settings) {
  if (!settings.target) return {};
  Result<config::Target> loaded = config::load_target(*settings.target);
  if (!loaded.ok()) return {};
  const auto target = std::make_shared<config::Target>(std::move(loaded).value());
  const config::TypeRow *narrow = target->find_type("a8w8"), *wide = target->find_type("a16w8");
  if (narrow == nullptr || wide == nullptr) return {};
  return [target, narrow, wide](const ir::Node& node) {
    const std::string op = ir::full_op_name(node);
    const auto runs = [&](const config::TypeRow& type) {
      return target->find_operator(op, type.column).verdict == config::Placement::kRuns;
    };
    return runs(*wide) || !runs(*narrow);
  };
}

RescueInputs inputs_of(Run& run, const Judges& judges, const Agreement& before) {
  const compare::ExpectedOutputs* hard = judges.hard ? &*judges.hard : nullptr;
  const auto next_trial = [&run] {
    ++run.trials;
    return run.reports(0, 0);
  };
  return {.state = run.state,
          .loaded = run.loaded.graph,
          .expected = judges.all,
          .few = judges.few,
          .hard = hard,
          .before = before,
          .applied = {},
          .next_trial = next_trial,
          .is_placed_alike = {},
          .tried = nullptr,
          .runs_wide = wide_placement(run.state.settings)};
}

/// Fine-tuning rounds weights itself: what is left of a rescue without rounding.
Rescued without_rounding(Rescued rescued) {
  std::erase(rescued.report.settings, "quarkq.rounding=" + rescued.report.rounding);
  rescued.report.rounding.clear();
  rescued.remedies.weights.rounding.clear();
  return rescued;
}

/// The phases from mark on, up to fine-tuning, on the model as calibrated.
Result<RunState> plan_again(Run& run, const Remedies& remedies) {
  RunState again = trial_before_mark(run.state);
  again.tuning = run.state.tuning;
  again.progress = run.state.progress;
  apply(remedies, again);
  const PhaseRange planning{.from = pass::Phase::kMark, .until = pass::Phase::kTune};
  QQ_RETURN_IF_ERROR(run_passes(again, planning, run.report.phases, run.options()));
  return again;
}

}  // namespace

Result<bool> rescue(Run& run, const ir::Model& original) {
  if (run.source.samples.get() == nullptr) return false;
  const Stopwatch watch;
  QQ_TRY(Judges judges, make_judges(run, original));
  QQ_TRY(const ir::Model written, whole_model(run.state.model, run.state.tail));
  QQ_TRY(const std::vector<OutputAgreement> outputs, judges.all.compare(written, run.state.diagnostics));
  if (run.is_poor) QQ_RETURN_IF_ERROR(find_hard(written, outputs, judges));  // only other formats are tried on them
  QQ_TRY(const Agreement before, compare::worst_agreement(outputs));
  QQ_TRY(const std::optional<Rescued> rescued,
         find_rescue(run, inputs_of(run, judges, before), refusals_of(run.state.model, run.state.settings)));
  run.state.tuning.rounded.reset();
  run.report.phases.push_back({"rescue", watch.seconds(), rescued.has_value()});
  if (!rescued) return false;
  QQ_RETURN_IF_ERROR(write_again(run, *rescued));
  return true;
}

bool looks_before_tuning(const Run& run) {
  const config::Settings& settings = run.state.settings;
  if (!settings.algorithms.include_fast_ft || run.source.samples.get() == nullptr || !run.request.verify) return false;
  config::Settings plain = settings;
  plain.algorithms.include_fast_ft = false;
  return plain.tool.on_collapse.value_or("rescue") == "rescue" && may_rescue(plain);
}

Status save_rescue_settings(const Run& run) {
  if (!run.report.rescue || run.report.rescue->settings_path.empty()) return Status();
  const RescueReport& rescue = *run.report.rescue;
  std::vector<std::string> settings = run.request.settings;
  settings.insert(settings.end(), rescue.settings.begin(), rescue.settings.end());
  settings.emplace_back("quarkq.on_collapse=warn");  // what a rescue would change is here
  QQ_TRY(const config::QuantConfig config, config::load_config(run.request.config, settings));
  return write_file(rescue.settings_path, cat("# the settings of ", run.report.output_path,
                                              " after its rescue, for --config\n", config::to_yaml(config)));
}

Status remedy_before_tuning(Run& run, const ir::Model& original) {
  const Stopwatch watch;
  const Result<Judges> judges = make_judges(run, original);
  if (!judges.ok()) return Status();  // operators that the executor lacks: fine-tuning says so
  RunState untuned = run.state;
  untuned.settings.algorithms.include_fast_ft = false;
  untuned.progress = nullptr;  // the rescue is one phase
  QQ_TRY(const Agreement before, judge_plan(untuned, judges.value().all));
  run.is_poor = !is_enough(before, untuned.settings);
  if (!run.is_poor) return Status();
  Run plain{.request = run.request,
            .source = run.source,
            .state = untuned,
            .report = run.report,
            .loaded = run.loaded,
            .is_poor = true};
  QQ_TRY(const std::optional<Rescued> found,
         find_rescue(plain, inputs_of(plain, judges.value(), before), refusals_of(plain.state)));
  untuned.tuning.rounded.reset();
  const std::optional<Rescued> rescued = found ? std::optional(without_rounding(*found)) : std::nullopt;
  const bool has_changed = rescued && !(rescued->remedies.empty() && rescued->report.float_changes.empty());
  QQ_TRY(RunState planned, plan_again(plain, has_changed ? rescued->remedies : Remedies()));
  planned.settings.algorithms.include_fast_ft = true;
  planned.progress = run.state.progress;
  run.state = std::move(planned);
  if (has_changed) report_rescue(run, rescued->report);
  run.report.phases.push_back({"rescue", watch.seconds(), has_changed});
  return Status();
}

}  // namespace quarkq::pipeline

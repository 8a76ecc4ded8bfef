// SPDX-License-Identifier: MIT
// quarkq tune: the best model that meets a goal, found by trials. quarkq plan: what tune would try.
#include <cstdio>
#include <memory>

#include "base/isa.h"
#include "compare/intervals.h"
#include "evaluate_metrics.h"
#include "memory_ceiling.h"
#include "pipeline/report/check_target.h"
#include "quantize_summary.h"
#include "quarkq/tune.h"
#include "run_control.h"
#include "terminal.h"
#include "verb.h"

namespace quarkq::tool {
namespace {

struct TuneArgs {
  TuneRequest request;
  ComputeOptions compute;
  std::string time, json, report_path;
  std::vector<std::string> requirements;
  std::optional<double> confidence;
  bool dry_run = false;
};

std::string wide_text(double share) { return share > 0 ? fixed(100 * share, 1) + " %" : "-"; }

void print_trials(const TuneReport& report) {
  Table table({{"Trial"},
               {report.metric, kRight},
               {cat(six_digits(100 * report.confidence), " % interval"), kRight},
               {"worst cos", kRight},
               {"wide MACs", kRight},
               {"size", kRight},
               {"NPU", kRight},
               {"s", kRight},
               {""}});
  for (size_t i = 0; i < report.trials.size(); ++i) {
    const Trial& trial = report.trials[i];
    if (!trial.why_not.empty()) {
      table.add({trial.name, "-", "-", "-", "-", "-", "-", "-", "failed: " + trial.why_not});
      continue;
    }
    const auto& placed = trial.deployable;
    const bool is_refused = placed && placed->holds == Deployability::Holds::kNo;
    const std::string npu = !placed      ? "-"
                            : is_refused ? "refused"
                                         : cat(placed->placed, "/", placed->total, " in ", placed->regions);
    table.add({trial.name, six_digits(trial.value), interval_text(trial.interval), fixed(trial.cosine, 4),
               wide_text(trial.wide_macs), bytes_text(static_cast<double>(trial.bytes)), npu, fixed(trial.seconds, 1),
               cat(i == report.best  ? "best"
                   : trial.is_pareto ? "pareto"
                                     : "",
                   trial.is_reused ? " (earlier)" : "")});
  }
  table.print_fitting();
}

void print_outcome(const TuneReport& report) {
  print_trials(report);
  say("\n");
  const Trial& best = report.trials[report.best];
  const std::string from = report.float_value ? cat(", float ", six_digits(*report.float_value)) : "";
  print_line(cat("best       ", best.name, ": ", report.metric, " ", six_digits(best.value), from));
  if (report.change) print_line(cat("to float   ", change_text(report.change)));
  if (best.deployable) print_line(text(*best.deployable));
  if (!report.goal.empty()) print_line(cat("goal       ", report.goal, ": ", report.is_met ? "met" : "not met"));
  print_line(cat("written    ", report.output_path, " in ", fixed(report.seconds, 1), " s"));
  say("settings   %s (quarkq quantize --config makes the same model)\n", report.settings_path.c_str());
  if (!report.is_met && report.is_timed_out && !report.next.empty())
    print_line(cat("next       with more time: ", report.next));
}

void print_steps(const TunePlan& plan) {
  Table table({{"Step"}, {"trials", kRight}, {"s, about", kRight}, {"What"}, {"Risk"}});
  for (const TuneStep& step : plan.steps)
    table.add({step.name, cat(step.trials.size()), fixed(step.seconds, 0), step.what, step.risk});
  table.print_fitting();
  say("\nall steps about %.0f s; scoring is not in it. Nothing was written.\n", plan.seconds);
}

/// Checks and fills in the common parts of both verbs.
Status prepare(TuneArgs& args) {
  if (args.request.search_path.empty())
    QQ_RETURN_IF_ERROR(check_has_config(args.request.config, args.request.settings));
  QQ_RETURN_IF_ERROR(pin_isa(args.compute.isa));
  QQ_RETURN_IF_ERROR(check_is_file("--output", args.request.output_path));
  args.request.threads = args.compute.threads;
  args.request.goal_confidence = args.confidence.value_or(0);
  if (!args.time.empty()) {
    QQ_TRY(args.request.seconds, seconds_of("--time", args.time));
  }
  return Status();
}

Status run_plan(TuneArgs& args) {
  QQ_RETURN_IF_ERROR(prepare(args));
  QQ_TRY(TextOutput json_file, TextOutput::open(args.json));
  QQ_TRY(const TunePlan plan, run_with_bar(args.request, plan_tuning));
  if (json_file.is_open()) QQ_RETURN_IF_ERROR(json_file.write(to_json(plan)));
  print_findings(plan.findings);
  if (prints_text(args.json)) print_steps(plan);
  return Status();
}

Status check_goal(const TuneReport& report) {
  if (report.goal.empty() || report.is_met) return Status();
  const Trial& best = report.trials[report.best];
  const std::string sure =
      report.is_unsure ? cat(", which the value meets and its interval, ",
                             report.change ? change_text(report.change) + " to float" : interval_text(best.interval),
                             ", does not: ", compare::too_few_text(best.resamples))
                       : "";
  return quality_gate("tune: ", report.metric, " is ", six_digits(best.value),
                      report.float_value ? cat(", float is ", six_digits(*report.float_value)) : "", ", the goal is ",
                      report.goal, sure, "; the best found is in ", report.output_path);
}

Status run_tune(TuneArgs& args) {
  if (args.dry_run) return run_plan(args);
  QQ_RETURN_IF_ERROR(prepare(args));
  QQ_TRY(TextOutput report_file, TextOutput::open(args.report_path));
  QQ_TRY(TextOutput json_file, TextOutput::open(args.json));
  QQ_TRY(const TuneReport report, run_with_bar(args.request, tune));
  if (report_file.is_open()) QQ_RETURN_IF_ERROR(report_file.write(to_json(report)));
  if (json_file.is_open()) QQ_RETURN_IF_ERROR(json_file.write(to_json(report)));
  print_findings(report.findings);
  if (prints_text(args.json) && args.report_path != kStdout) print_outcome(report);
  std::fflush(stdout);
  if (!args.requirements.empty()) QQ_RETURN_IF_ERROR(pipeline::check_deployable(report.trials[report.best].deployable));
  return check_goal(report);
}

/// Options that both verbs have.
std::shared_ptr<TuneArgs> add_tune_options(CLI::App& app) {
  auto args = std::make_shared<TuneArgs>();
  TuneRequest& request = args->request;
  app.add_option("MODEL", request.model_path, "Float ONNX model")->required();
  app.add_option("-c,--config", request.config, "Settings to start from: a file, or a preset such as xint8");
  app.add_option("--search", request.search_path,
                 "A file of amd-quark's AutoSearchPro or AutoSearch: its combinations replace the ladder");
  app.add_option("--calib", request.calib_folder, "Calibration samples (docs/calibration-data.md)");
  app.add_option("--eval", request.eval_folder, "Labelled samples that trials are judged on: others than --calib")
      ->required();
  app.add_option("--labels", request.metric.truth_path, "Ground truth of these samples (docs/evaluate.md)");
  app.add_option("--labels-output", request.metric.output, "The output that is scored, when there are several");
  add_scoring_options(app, request.metric);
  app.add_option("--goal", request.goal,
                 "drop<=X, drop<=X% (points of a share, else percent of the float value), value>=X or value<=X; "
                 "without one: the best within the time")
      ->type_name("GOAL");
  add_confidence_option(app, args->confidence,
                        "The goal must be met by the end of the interval of this confidence instead of by the value");
  add_deployable_gate(app, args->requirements);
  app.add_option("--set", request.settings, "key=value, stronger than --config; no trial changes it (repeatable)")
      ->allow_extra_args(false);
  add_preprocess_option(app, request.settings);
  add_backend_option(app, request.settings);
  add_target_options(app, request.settings);
  add_island_options(app, request.settings);
  app.add_option("--limit", request.limit, "Judge on the first so many samples of --eval");
  app.add_option("-o,--output", request.output_path, "Result (default: <stem>_quantized.onnx next to the model)");
  add_json_option(app, args->json);
  add_compute_options(app, args->compute);
  add_ceiling_option(app, request.memory_ceiling);
  return args;
}

}  // namespace

Run setup_tune(CLI::App& app) {
  const std::shared_ptr<TuneArgs> args = add_tune_options(app);
  app.add_flag("--lower-is-better", args->request.lower_is_better, "Of the number of --metric-cmd");
  app.add_option("--time", args->time, "Stop after this: 90s, 30m, 2h (the plain settings are always tried)")
      ->type_name("TIME");
  app.add_option("--state", args->request.state_folder,
                 "Keep trials here; processes that get the same folder, on any machines, share them "
                 "(default: <output>.tune, removed at the end)")
      ->type_name("DIR");
  app.add_option("--report", args->report_path, "Write the report here, as JSON");
  add_dry_run_option(app, args->dry_run);
  return [args] { return run_tune(*args); };
}

Run setup_plan(CLI::App& app) {
  const std::shared_ptr<TuneArgs> args = add_tune_options(app);
  return [args] { return run_plan(*args); };
}

}  // namespace quarkq::tool

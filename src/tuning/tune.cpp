// SPDX-License-Identifier: MIT
#include "tuning/tune.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/file_system.h"
#include "base/paths.h"
#include "base/run_files.h"
#include "compare/intervals.h"
#include "config/print.h"
#include "config/quant_config.h"
#include "exec/environment.h"
#include "pipeline/report/json.h"
#include "pipeline/run/facts.h"
#include "pipeline/run/tail.h"
#include "quarkq/analyze.h"
#include "quarkq/status.h"
#include "quarkq/tune.h"
#include "tuning/ladder.h"
#include "tuning/trial_store.h"

namespace quarkq::tuning {

namespace {

constexpr double kClaimSeconds = 60;                       // without a sign of life a process has died
constexpr double kShortestPause = 0.1, kLongestPause = 2;  // seconds between two looks at what others do

bool is_final(const Status& status) {
  return status.code() == Code::kInterrupted || status.code() == Code::kIo || status.code() == Code::kInternal;
}

bool is_as_good(const Scale& scale, const Trial& a, const Trial& b) {
  return !scale.is_better(b.value, a.value) && a.wide_macs <= b.wide_macs && a.bytes <= b.bytes;
}

}  // namespace

void mark_pareto(const Scale& scale, std::vector<Trial>& trials) {
  for (Trial& trial : trials) {
    trial.is_pareto = trial.why_not.empty() && std::ranges::none_of(trials, [&](const Trial& other) {
                        return &other != &trial && other.why_not.empty() && is_as_good(scale, other, trial) &&
                               (!is_as_good(scale, trial, other) || &other < &trial);
                      });
  }
}

Climb::Climb(const TuneRequest& request, const Judge& judge, const Goal& goal, const std::vector<Rung>& rungs,
             const TrialStore& store)
    : request_(request), judge_(judge), goal_(goal), rungs_(rungs), store_(store) {
  report_.model_path = request.model_path, report_.output_path = request.output_path;
  report_.metric = judge.scale().name, report_.unit = judge.scale().unit;
  report_.higher_is_better = judge.scale().higher_is_better;
  report_.goal = request.goal;
  report_.confidence = confidence();
}

Judge::KeepGoing Climb::keep_going(const std::string& name, Claim* claim) {
  return [this, name, claim](const Progress& progress) {
    if (claim != nullptr) claim->beat();
    Progress shown = progress;
    shown.phase = name, shown.number = 0, shown.count = 0;  // a line per trial
    if (request_.progress && !request_.progress(shown)) return false;
    is_given_up_ = is_late();
    return !is_given_up_;
  };
}

Status Climb::find_float_value() {
  if (judge_.compares()) return Status();
  float_value_ = store_.load_float_value();
  if (!float_value_) {
    QQ_TRY(float_value_, judge_.value_of(request_.model_path, keep_going("float model", nullptr)));
    QQ_RETURN_IF_ERROR(store_.save_float_value(*float_value_));
  }
  report_.float_value = float_value_->value;
  report_.float_interval = compare::interval_of(float_value_->samples, float_value_->value, confidence());
  return Status();
}

Status Climb::run() {
  QQ_RETURN_IF_ERROR(store_.make_folder());
  QQ_RETURN_IF_ERROR(find_float_value());
  for (const Rung& rung : rungs_) {
    if (is_over() || is_late()) {
      report_.is_timed_out = !report_.is_met;
      report_.next += cat(report_.next.empty() ? "" : ", ", rung.name);
      continue;
    }
    QQ_RETURN_IF_ERROR(take_step(rung));
  }
  if (!has_best())
    return invalid_argument("tune: no trial has a result; ", report_.trials.at(0).name, ": ",
                            report_.trials[0].why_not);
  mark_pareto(judge_.scale(), report_.trials);
  describe_best();
  report_.seconds = watch_.seconds();
  return Status();
}

void Climb::describe_best() {
  report_.best = best_.value_or(0);
  const Trial& best = report_.trials[report_.best];
  report_.is_unsure = !report_.is_met && !judge_.refuses(best) && goal_.is_met(best.value, report_.float_value);
  if (float_value_)
    report_.change = compare::difference_of({float_value_->value, float_value_->samples}, {best.value, best.resamples},
                                            confidence());
}

std::vector<Trial> Climb::trials_of(const Rung& rung) const {
  const Trial* best = has_best() ? &report_.trials[*best_] : nullptr;
  std::vector<Trial> trials;
  for (const Candidate& candidate : rung.candidates({best, sensitivity_ ? &*sensitivity_ : nullptr})) {
    Trial trial;
    trial.step = rung.name, trial.name = candidate.name;
    const bool has_base = best != nullptr && !rung.is_search;
    trial.settings = has_base ? merged(best->settings, candidate.settings) : candidate.settings;
    trial.excluded_macs = candidate.excluded_macs > 0 || !has_base ? candidate.excluded_macs : best->excluded_macs;
    if (trial.excluded_macs > 0 && sets_key(candidate.settings, "quarkq.on_collapse")) {
      // Nodes that the settings leave in float count, and form an island.
      if (rung.max_islands == 1) continue;
      trial.settings = merged(trial.settings, {cat("quarkq.max_wide=", rung.max_wide - trial.excluded_macs)});
      if (rung.max_islands > 1)
        trial.settings = merged(trial.settings, {cat("quarkq.max_islands=", rung.max_islands - 1)});
    }
    const auto same = [&](const Trial& other) { return other.settings == trial.settings; };
    const bool is_reached = best != nullptr && best->cosine >= candidate.until_cosine;
    const bool is_known = std::ranges::any_of(report_.trials, same) || std::ranges::any_of(trials, same);
    if (!is_reached && !is_known) trials.push_back(std::move(trial));
  }
  return trials;
}

Status Climb::find_layers(const Rung& rung) {
  if (!rung.needs_sensitivity || sensitivity_) return Status();
  sensitivity_.emplace();
  Result<Sensitivity> found =
      find_sensitivity(request_, report_.trials[*best_].settings, rung.max_wide, keep_going("sensitivity", nullptr));
  if (!found.ok() && is_given_up_) {
    report_.is_timed_out = true;
    return Status();
  }
  if (!found.ok()) return is_final(found.status()) ? found.status() : Status();
  sensitivity_ = std::move(found).value();
  report_.sensitivity = sensitivity_->layers;
  return Status();
}

Status Climb::take_step(const Rung& rung) {
  QQ_RETURN_IF_ERROR(find_layers(rung));
  if (is_over()) return Status();
  std::vector<Trial> trials = trials_of(rung);
  QQ_RETURN_IF_ERROR(try_all(rung, trials));
  const size_t first = report_.trials.size();
  std::ranges::move(trials, std::back_inserter(report_.trials));
  return keep_best(first);
}

bool Climb::meets_goal(const Trial& trial) const {
  return !judge_.refuses(trial) && goal_.is_met(trial.value, report_.float_value) &&
         (request_.goal_confidence == 0 || goal_.is_met_surely(trial, float_value_, confidence()));
}

void Climb::end_at_goal(std::vector<Trial>& trials, std::vector<char>& done) const {
  for (size_t i = 0; i < trials.size() && done[i] != 0; ++i) {
    if (!trials[i].why_not.empty() || !meets_goal(trials[i])) continue;
    trials.resize(i + 1);
    done.resize(i + 1);
  }
}

Status Climb::try_all(const Rung& rung, std::vector<Trial>& trials) {
  Claims claims(kClaimSeconds);
  std::vector<char> done(trials.size());
  double pause = kShortestPause;
  while (std::ranges::count(done, 1) < static_cast<std::ptrdiff_t>(trials.size())) {
    const auto before = std::ranges::count(done, 1);
    for (size_t i = 0; i < trials.size() && !is_over(); ++i) {
      if (done[i] != 0) continue;
      QQ_TRY(std::optional<Trial> found, take(trials[i], claims, /*may_fail=*/rung.is_search || has_best()));
      if (!found) continue;
      trials[i] = std::move(*found);
      done[i] = 1;
      if (rung.is_search) end_at_goal(trials, done);
    }
    if (is_over()) break;
    if (std::ranges::count(done, 1) == before) QQ_RETURN_IF_ERROR(wait(pause));
  }
  std::vector<Trial> kept;
  for (size_t i = 0; i < trials.size(); ++i) {
    if (done[i] != 0) kept.push_back(std::move(trials[i]));
  }
  trials = std::move(kept);
  return Status();
}

/// Others make the trials that are left.
Status Climb::wait(double& pause) {
  if (request_.progress && !request_.progress({"other processes", 0, 0}))
    return Status(Code::kInterrupted, "interrupted");
  if (is_late()) {
    report_.is_timed_out = true;
    return Status();
  }
  std::this_thread::sleep_for(std::chrono::duration<double>(pause));
  pause = std::min(2 * pause, kLongestPause);
  return Status();
}

Result<std::optional<Trial>> Climb::take(const Trial& asked, Claims& claims, bool may_fail) {
  if (std::optional<Trial> done = store_.load(asked.settings)) return done;
  if (is_late()) {
    report_.is_timed_out = true;
    return std::optional<Trial>();
  }
  QQ_TRY(std::optional<Claim> claim, claims.take(store_.claim_path(asked.settings)));
  if (!claim) return std::optional<Trial>();
  if (std::optional<Trial> done = store_.load(asked.settings)) return done;  // the one who had the claim made it
  QQ_TRY(const std::string model, store_.make_model_path(asked.settings));
  Result<Trial> made = judge_.try_settings(asked.settings, model, keep_going(asked.name, &*claim));
  if (!made.ok() && is_given_up_) {
    report_.is_timed_out = true;
    return std::optional<Trial>();
  }
  if (!made.ok() && (is_final(made.status()) || !may_fail)) return made.status();
  Trial trial = asked;
  if (made.ok()) {
    trial = std::move(made).value();
  } else {
    trial.why_not = made.status().message();
  }
  trial.step = asked.step, trial.name = asked.name;
  trial.excluded_macs = asked.excluded_macs, trial.wide_macs += asked.excluded_macs;
  QQ_RETURN_IF_ERROR(store_.save(trial));
  return std::optional(std::move(trial));
}

void Climb::set_gains(size_t first) {
  for (size_t i = first; i < report_.trials.size(); ++i) {
    Trial& trial = report_.trials[i];
    if (!trial.why_not.empty()) continue;
    trial.interval = compare::interval_of(trial.resamples, trial.value, confidence());
    if (!best_) continue;
    const Trial& best = report_.trials[*best_];
    trial.gain = compare::difference_of({best.value, best.resamples}, {trial.value, trial.resamples});
  }
}

std::optional<size_t> Climb::find_better(size_t first) const {
  std::optional<size_t> top;
  for (size_t i = first; i < report_.trials.size(); ++i) {
    const Trial& trial = report_.trials[i];
    if (!trial.why_not.empty()) continue;
    if (!top || judge_.is_better(trial, report_.trials[*top])) top = i;
  }
  if (!best_ || !top) return top;
  const Trial& best = report_.trials[*best_];
  // The goal is the user's own measure of what is good enough.
  if (judge_.replaces(report_.trials[*top], best) || meets_goal(report_.trials[*top])) return top;
  for (size_t i = first; i < report_.trials.size(); ++i)
    if (report_.trials[i].why_not.empty() && judge_.replaces(report_.trials[i], best)) return i;
  return std::nullopt;
}

Status Climb::keep_best(size_t first) {
  set_gains(first);
  const std::optional<size_t> found = find_better(first);
  if (!found) return Status();
  best_ = found;
  Trial& trial = report_.trials[*best_];
  trial.is_accepted = true;
  report_.is_met = meets_goal(trial);
  return store_.copy_model(trial, request_.output_path);
}

}  // namespace quarkq::tuning

namespace quarkq {

namespace {

using tuning::Asked;
using tuning::Climb;
using tuning::Goal;
using tuning::Judge;

/// The first line of the settings file. Only a file that begins with it is replaced, because the user did not name the
/// file.
constexpr std::string_view kSettingsMark = "# written by quarkq tune";

Status check_settings_file(const std::string& path) {
  if (!file_exists(path)) return Status();
  QQ_TRY(const auto there, MappedFile::open(path));
  const std::string_view text(reinterpret_cast<const char*>(there->data()), there->size());
  if (text.starts_with(kSettingsMark)) return Status();
  return invalid_argument(
      path, ": was not written by an earlier tune, which would write its settings here; move it, or pass ",
      "another --output");
}

Status check_paths(const TuneRequest& request, RunFiles& files) {
  if (!file_exists(request.model_path)) return invalid_argument(request.model_path, ": no such file");
  const std::string& labels = request.metric.truth_path;
  if (!labels.empty() && !file_exists(labels) && !is_folder(labels))
    return bad_data(labels, ": no such file or folder");
  for (const std::string& input : {request.model_path, request.config, request.search_path, request.metric.truth_path})
    QQ_RETURN_IF_ERROR(files.add_input(input));
  const std::string settings = settings_path_of(request.output_path);
  for (const std::string& output : {request.output_path, settings, pipeline::tail_path(request.output_path)})
    QQ_RETURN_IF_ERROR(files.add_output(output));
  return check_settings_file(settings);
}

TuneRequest with_paths(TuneRequest request) {
  if (request.output_path.empty()) request.output_path = default_output_path(request.model_path);
  return request;
}

Status find_same_samples(const TuneRequest& request, tuning::FileHashes& hashes, Diagnostics& diagnostics) {
  if (request.calib_folder.empty()) return Status();
  QQ_TRY(const size_t same, tuning::count_shared_files(request.eval_folder, request.calib_folder, hashes));
  if (same > 0)
    diagnostics.add("tune-same-samples", request.eval_folder,
                    cat(same, same == 1 ? " file of it is in " : " files of it are in ", request.calib_folder));
  return Status();
}

Status with_progress_kept(const Status& status, const TuneRequest& request, const std::string& folder) {
  if (status.code() != Code::kInterrupted) return status;
  std::vector<std::string> parts;
  if (file_exists(request.output_path)) parts.push_back(cat("the best so far is ", request.output_path));
  if (!request.metric.function) parts.push_back(cat("trials are in ", folder, "; the same command resumes there"));
  return Status(Code::kInterrupted, parts.empty() ? "interrupted" : join(parts, "; "));
}

Status write_settings(const TuneRequest& request, TuneReport& report) {
  std::vector<std::string> settings = request.settings;
  const std::vector<std::string>& found = report.trials[report.best].settings;
  settings.insert(settings.end(), found.begin(), found.end());
  QQ_TRY(const config::QuantConfig config, config::load_config(request.config, settings));
  report.settings_path = settings_path_of(request.output_path);
  return write_file(report.settings_path, cat(kSettingsMark, "\n", config::to_yaml(config)));
}

Result<Goal> read_goal(const TuneRequest& request, const Judge& judge) {
  QQ_TRY(const Goal goal, Goal::read(request.goal, judge.scale()));
  if (goal.is_drop() && judge.compares())
    return invalid_argument("--goal: found ", request.goal, ", ", judge.scale().name,
                            " compares with the float model, so it has no drop; allowed is value",
                            judge.scale().higher_is_better ? ">=X" : "<=X");
  return goal;
}

}  // namespace

std::string settings_path_of(const std::string& output_path) { return paths::with_suffix(output_path, ".yaml"); }

Result<TuneReport> tune(const TuneRequest& asked_request) {
  exec::set_threads(asked_request.threads);
  RunFiles files;
  QQ_RETURN_IF_ERROR(check_paths(with_paths(asked_request), files));
  QQ_TRY(Asked asked, tuning::read_request(with_paths(asked_request)));
  const TuneRequest& request = asked.request;
  QQ_TRY(const Judge judge, Judge::make(request));
  QQ_TRY(const Goal goal, read_goal(request, judge));
  tuning::FileHashes hashes;
  QQ_RETURN_IF_ERROR(find_same_samples(request, hashes, asked.diagnostics));
  QQ_TRY(const std::string key, tuning::run_key(request, asked.settings_text, hashes));
  const bool is_own = request.state_folder.empty();
  const std::string folder = is_own ? request.output_path + ".tune" : request.state_folder;
  tuning::TrialStore store(folder, key, paths::name_of(request.output_path));
  if (is_own) QQ_RETURN_IF_ERROR(store.share());
  Climb climb(request, judge, goal, asked.rungs, store);
  if (const Status done = climb.run(); !done.ok()) {
    if (request.metric.function) store.remove();  // another function may judge next time
    return with_progress_kept(done, request, folder);
  }
  TuneReport report = climb.report();
  QQ_RETURN_IF_ERROR(write_settings(request, report));
  report.findings = pipeline::findings_of(asked.diagnostics);
  if (is_own) store.remove();
  return report;
}

Result<TunePlan> plan_tuning(const TuneRequest& asked_request) {
  RunFiles files;
  QQ_RETURN_IF_ERROR(check_paths(with_paths(asked_request), files));
  QQ_TRY(const Asked asked, tuning::read_request(with_paths(asked_request)));
  const TuneRequest& request = asked.request;
  QQ_TRY(const Judge judge, Judge::make(request));
  QQ_RETURN_IF_ERROR(read_goal(request, judge).status());
  QuantizeRequest plain;
  plain.model_path = request.model_path, plain.output_path = request.output_path;
  plain.config = request.config, plain.settings = request.settings;
  plain.settings.insert(plain.settings.end(), asked.first.begin(), asked.first.end());
  plain.calib_folder = request.calib_folder;
  plain.threads = request.threads, plain.progress = request.progress;
  plain.memory_ceiling = request.memory_ceiling;
  QQ_TRY(const Forecast forecast, quarkq::forecast(plain));
  TunePlan plan;
  plan.model_path = request.model_path, plan.preset = asked.preset;
  plan.metric = judge.scale().name, plan.goal = request.goal;
  plan.findings = pipeline::findings_of(asked.diagnostics);
  for (const tuning::Rung& rung : asked.rungs) {
    TuneStep row{rung.name, rung.what, rung.risk, {}, 0};
    for (const tuning::Candidate& candidate : rung.candidates({})) row.trials.push_back(candidate.name);
    row.seconds = rung.cost * forecast.seconds * static_cast<double>(row.trials.size());
    plan.seconds += row.seconds;
    plan.steps.push_back(std::move(row));
  }
  return plan;
}

std::string to_json(const TuneReport& report) {
  using pipeline::Json;
  Json trials = Json::array();
  for (const Trial& trial : report.trials) {
    Json row = tuning::trial_json(trial);
    row["interval"] = pipeline::interval_json(trial.interval);
    row["gain"] = pipeline::difference_json(trial.gain);
    row["accepted"] = trial.is_accepted;
    row["reused"] = trial.is_reused;
    row["pareto"] = trial.is_pareto;
    trials.push_back(std::move(row));
  }
  Json layers = Json::array();
  for (const LayerSensitivity& layer : report.sensitivity) {
    layers.push_back({{"node", layer.node},
                      {"cosine", pipeline::number(layer.cosine)},
                      {"sqnr_db", pipeline::number(layer.sqnr_db)},
                      {"mac_share", layer.mac_share}});
  }
  Json json = Json::object();
  json["quarkq"] = version();
  json["model"] = report.model_path;
  json["output"] = report.output_path;
  json["settings"] = report.settings_path;
  json["metric"] = {
      {"name", report.metric}, {"unit", report.unit}, {"better", report.higher_is_better ? "higher" : "lower"}};
  json["float_value"] = report.float_value ? pipeline::number(*report.float_value) : Json(nullptr);
  json["confidence"] = report.confidence;
  json["float_interval"] = pipeline::interval_json(report.float_interval);
  json["change"] = pipeline::difference_json(report.change);
  json["goal"] = report.goal;
  json["met"] = report.is_met;
  json["not_enough_samples"] = report.is_unsure;
  json["timed_out"] = report.is_timed_out;
  json["best"] = report.best;
  json["next"] = report.next;
  json["trials"] = std::move(trials);
  json["sensitivity"] = std::move(layers);
  json["seconds"] = report.seconds;
  json["findings"] = pipeline::findings_json(report.findings);
  return pipeline::text(json);
}

std::string to_json(const TunePlan& plan) {
  using pipeline::Json;
  Json steps = Json::array();
  for (const TuneStep& step : plan.steps) {
    steps.push_back({{"name", step.name},
                     {"what", step.what},
                     {"risk", step.risk},
                     {"trials", step.trials},
                     {"seconds", step.seconds}});
  }
  Json json = Json::object();
  json["quarkq"] = version();
  json["model"] = plan.model_path;
  json["preset"] = plan.preset;
  json["metric"] = plan.metric;
  json["goal"] = plan.goal;
  json["seconds"] = plan.seconds;
  json["steps"] = std::move(steps);
  json["findings"] = pipeline::findings_json(plan.findings);
  return pipeline::text(json);
}

}  // namespace quarkq

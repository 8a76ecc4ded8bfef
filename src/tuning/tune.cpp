// SPDX-License-Identifier: MIT
#include "quarkq/tune.h"

#include <filesystem>

#include "base/file_system.h"
#include "base/run_files.h"
#include "config/print.h"
#include "config/quant_config.h"
#include "exec/threads.h"
#include "pipeline/facts.h"
#include "pipeline/json.h"
#include "quarkq/forecast.h"
#include "quarkq/version.h"
#include "tuning/asked.h"
#include "tuning/climb.h"
#include "tuning/trial_json.h"

namespace quarkq {
namespace {

using tuning::Asked;
using tuning::Climb;
using tuning::Goal;
using tuning::Judge;

std::string name_of(const std::string& path) { return std::filesystem::path(path).filename().string(); }

/// The first line of the settings file. Only a file that begins with it is replaced: nobody named that file.
constexpr std::string_view kSettingsMark = "# written by quarkq tune";

Status check_settings_file(const std::string& path) {
  if (!file_exists(path)) return Status();
  QQ_TRY(const auto there, MappedFile::open(path));
  const std::string_view text(reinterpret_cast<const char*>(there->data()), there->size());
  if (text.starts_with(kSettingsMark)) return Status();
  return invalid_argument(path, ": is not of an earlier tune, which would write its settings here; move it, or give ",
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
  for (const std::string& output : {request.output_path, settings}) QQ_RETURN_IF_ERROR(files.add_output(output));
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

std::string settings_path_of(const std::string& output_path) {
  return std::filesystem::path(output_path).replace_extension(".yaml").string();
}

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
  tuning::TrialStore store(folder, key, name_of(request.output_path));
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
  json["goal"] = report.goal;
  json["met"] = report.is_met;
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

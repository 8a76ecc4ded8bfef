// SPDX-License-Identifier: MIT
#include "tuning/climb.h"

#include <algorithm>
#include <chrono>
#include <thread>

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
  report_.float_value = store_.load_float_value();
  if (report_.float_value) return Status();
  QQ_TRY(report_.float_value, judge_.value_of(request_.model_path, keep_going("float model", nullptr)));
  return store_.save_float_value(*report_.float_value);
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
  report_.best = best_.value_or(0);
  report_.seconds = watch_.seconds();
  return Status();
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
      // What the settings leave in float counts, and is an island.
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

void Climb::end_at_goal(std::vector<Trial>& trials, std::vector<char>& done) const {
  for (size_t i = 0; i < trials.size() && done[i] != 0; ++i) {
    if (!trials[i].why_not.empty() || !goal_.is_met(trials[i].value, report_.float_value)) continue;
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

Status Climb::keep_best(size_t first) {
  const std::optional<size_t> before = best_;
  for (size_t i = first; i < report_.trials.size(); ++i) {
    const Trial& trial = report_.trials[i];
    if (!trial.why_not.empty()) continue;
    if (!best_ || judge_.scale().is_better(trial.value, report_.trials[*best_].value)) best_ = i;
  }
  if (best_ == before) return Status();
  const Trial& trial = report_.trials[*best_];
  report_.is_met = goal_.is_met(trial.value, report_.float_value);
  return store_.copy_model(trial, request_.output_path);
}

}  // namespace quarkq::tuning

// SPDX-License-Identifier: MIT
// One run of tune(): the steps of the ladder, each starting from the best trial so far.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/claim.h"
#include "base/stopwatch.h"
#include "tuning/goal.h"
#include "tuning/ladder.h"
#include "tuning/trial_store.h"

namespace quarkq::tuning {

class Climb {
 public:
  Climb(const TuneRequest& request, const Judge& judge, const Goal& goal, const std::vector<Rung>& rungs,
        const TrialStore& store);

  /// Runs until the goal is met, the time is up or the ladder ends. Fails if the plain settings fail, and with
  /// kInterrupted.
  Status run();
  const TuneReport& report() const { return report_; }

 private:
  /// Returns whether the time is up; false while there is no result.
  bool is_late() const { return has_best() && request_.seconds > 0 && watch_.seconds() >= request_.seconds; }
  bool is_over() const { return report_.is_met || report_.is_timed_out; }
  bool has_best() const { return best_.has_value(); }
  double confidence() const { return request_.goal_confidence > 0 ? request_.goal_confidence : kConfidence; }
  /// Returns whether the target accepts the trial and its value meets the goal; with a confidence, the end of its
  /// interval too.
  bool meets_goal(const Trial& trial) const;
  /// Sets the gains of the trials of a step, from `first`, over the best trial so far.
  void set_gains(size_t first);
  /// Returns the trial of the step from `first` that becomes the best, or nullopt.
  std::optional<size_t> find_better(size_t first) const;
  /// Compares the best trial with the goal and the float model for the report.
  void describe_best();
  Status find_float_value();
  Status take_step(const Rung& rung);
  std::vector<Trial> trials_of(const Rung& rung) const;
  /// Runs at most once, for a step that needs the layers. A model that cannot be analyzed has none.
  Status find_layers(const Rung& rung);
  /// Runs the trials of one step and returns them in order, without abandoned trials.
  Status try_all(const Rung& rung, std::vector<Trial>& trials);
  /// Removes the trials after the first one that meets the goal, once all earlier trials are done.
  void end_at_goal(std::vector<Trial>& trials, std::vector<char>& done) const;
  /// Runs or loads a trial. Returns nullopt while another process works on it. With `may_fail`, a failure is recorded
  /// in the trial; otherwise the run fails.
  Result<std::optional<Trial>> take(const Trial& asked, Claims& claims, bool may_fail);
  Status wait(double& pause);
  Status keep_best(size_t first);
  Judge::KeepGoing keep_going(const std::string& name, Claim* claim);

  const TuneRequest& request_;
  const Judge& judge_;
  const Goal& goal_;
  const std::vector<Rung>& rungs_;
  const TrialStore& store_;
  const Stopwatch watch_;
  TuneReport report_;
  std::optional<size_t> best_;
  std::optional<Measure> float_value_;
  std::optional<Sensitivity> sensitivity_;
  bool is_given_up_ = false;  ///< The running trial was stopped because the time is up.
};

/// Marks the trials that no other trial beats in one of value, wide share and bytes without being worse in another.
void mark_pareto(const Scale& scale, std::vector<Trial>& trials);

}  // namespace quarkq::tuning

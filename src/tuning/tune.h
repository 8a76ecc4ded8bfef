// SPDX-License-Identifier: MIT
// One run of tune(): steps of the ladder, each on top of the best trial so far.
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

  /// Until the goal is met, the time is up or the ladder ends. Fails as plain settings do, and with kInterrupted.
  Status run();
  const TuneReport& report() const { return report_; }

 private:
  /// Never before there is a result.
  bool is_late() const { return has_best() && request_.seconds > 0 && watch_.seconds() >= request_.seconds; }
  bool is_over() const { return report_.is_met || report_.is_timed_out; }
  bool has_best() const { return best_.has_value(); }
  Status find_float_value();
  Status take_step(const Rung& rung);
  std::vector<Trial> trials_of(const Rung& rung) const;
  /// Once, where a step needs it; a model that cannot be analyzed has none.
  Status find_layers(const Rung& rung);
  /// Trials of one step, in their order; nothing for one that was given up.
  Status try_all(const Rung& rung, std::vector<Trial>& trials);
  /// Leaves out what follows the first trial that meets the goal, once all before it are done.
  void end_at_goal(std::vector<Trial>& trials, std::vector<char>& done) const;
  /// Nothing while another process has it. `may_fail`: then the trial says why; otherwise so does the run.
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
  std::optional<Sensitivity> sensitivity_;
  bool is_given_up_ = false;  ///< the trial that runs, because the time is up
};

/// The trials that no other beats in one of value, wide share and bytes without being worse in another.
void mark_pareto(const Scale& scale, std::vector<Trial>& trials);

}  // namespace quarkq::tuning

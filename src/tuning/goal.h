// SPDX-License-Identifier: MIT
// The goal of tuning a model, in the unit of its metric.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "quarkq/analyze.h"
#include "quarkq/tune.h"

namespace quarkq::tuning {

/// The metric by which trials are judged.
struct Scale {
  std::string name, unit;
  bool higher_is_better = true;

  /// NaN is worse than any number.
  bool is_better(double a, double b) const;
  /// Returns the end of an interval that is worse.
  double worse_end(const Interval& interval) const { return higher_is_better ? interval.low : interval.high; }
};

/// A value of the metric, and the draws of its samples.
struct Measure {
  double value = 0;
  Resamples samples;
};

class Goal {
 public:
  /// Parses a goal. "drop<=X": at most X worse than the float model; with a %, X is in percentage points for shares and
  /// in percent of the float value otherwise. "value>=X" (or the metric's name) if higher is better, "value<=X" if
  /// lower is better. Empty: no goal. Fails with kInvalidArgument.
  static Result<Goal> read(const std::string& text, const Scale& scale);

  bool is_drop() const { return kind_ == Kind::kDrop; }
  bool exists() const { return kind_ != Kind::kNone; }
  /// REQUIRES: `float_value` is set if is_drop().
  bool is_met(double value, std::optional<double> float_value) const;
  /// Returns whether the worse end of the interval meets the goal, at the confidence of the intervals. Returns false
  /// without intervals.
  bool is_met_surely(const Trial& trial, const std::optional<Measure>& float_value, double confidence) const;

 private:
  enum class Kind { kNone, kDrop, kValue };
  Kind kind_ = Kind::kNone;
  double bound_ = 0;
  bool is_relative_ = false;
  Scale scale_;
};

/// The metric of the request, measured by running models on the samples of the request.
class Judge {
 public:
  /// Fails with kInvalidArgument unless exactly one metric is requested with all its options.
  static Result<Judge> make(const TuneRequest& request);

  const Scale& scale() const { return scale_; }
  /// Returns whether the metric compares with the float model, so that the float model itself has no value.
  bool compares() const { return compares_; }
  /// Returns whether the target refuses the result of the trial, and the user does not allow that.
  bool refuses(const Trial& trial) const {
    return !allows_float_ && trial.deployable && trial.deployable->holds == Deployability::Holds::kNo;
  }
  /// Returns whether `a` is preferred to `b`: what the target accepts first, then by the metric.
  bool is_better(const Trial& a, const Trial& b) const {
    return refuses(a) == refuses(b) ? scale_.is_better(a.value, b.value) : refuses(b);
  }
  /// Returns whether `trial` replaces `best`, the best trial of earlier steps: the target accepts it alone, it is
  /// better beyond noise, or it is as good and cheaper. Without draws of both, any better value counts. REQUIRES:
  /// trial.gain is set if there are draws.
  bool replaces(const Trial& trial, const Trial& best) const;

  using KeepGoing = std::function<bool(const Progress&)>;
  Result<Measure> value_of(const std::string& model, const KeepGoing& keep_going) const;
  /// Quantizes with `settings` into `model`. Fails like quantize() and score().
  Result<Trial> try_settings(const std::vector<std::string>& settings, const std::string& model,
                             const KeepGoing& keep_going) const;

 private:
  explicit Judge(const TuneRequest& request) : request_(request) {}

  TuneRequest request_;
  Scale scale_;
  bool compares_ = false;
  bool allows_float_ = false;  ///< The setting quarkq.allow_float.
};

/// The effect of single layers on the outputs, and the most harmful blocks.
struct Sensitivity {
  std::vector<LayerSensitivity> layers;  ///< In node order.
  std::vector<LayerBlock> blocks;        ///< The most harmful block first.
};

/// Measures the effect on the outputs of quantizing each layer alone, on a few calibration samples. `settings` are in
/// addition to the request's; `block_macs` bounds the share of the multiply-accumulates in a block. Fails like
/// analyze().
Result<Sensitivity> find_sensitivity(const TuneRequest& request, const std::vector<std::string>& settings,
                                     double block_macs, const Judge::KeepGoing& keep_going);

}  // namespace quarkq::tuning

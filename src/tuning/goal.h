// SPDX-License-Identifier: MIT
// What a tuned model has to reach, in the unit of its metric.
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
};

class Goal {
 public:
  /// "drop<=X": at most X worse than the float model; with a % the X is points of a share, else percent of the float
  /// value. "value>=X" (or the metric's name) when higher is better, "value<=X" when lower is. Empty: no goal. Fails
  /// with kInvalidArgument.
  static Result<Goal> read(const std::string& text, const Scale& scale);

  bool is_drop() const { return kind_ == Kind::kDrop; }
  bool exists() const { return kind_ != Kind::kNone; }
  /// REQUIRES: `float_value` is there when is_drop().
  bool is_met(double value, std::optional<double> float_value) const;

 private:
  enum class Kind { kNone, kDrop, kValue };
  Kind kind_ = Kind::kNone;
  double bound_ = 0;
  bool is_relative_ = false;
  Scale scale_;
};

// Makes a trial's model and finds what it is worth.

/// The metric of the request; its value on the samples of the request is found by running models.
class Judge {
 public:
  /// Fails with kInvalidArgument unless exactly one metric is asked for, or it lacks what it needs.
  static Result<Judge> make(const TuneRequest& request);

  const Scale& scale() const { return scale_; }
  /// The metric compares with the float model, so that this one has no value.
  bool compares() const { return compares_; }

  using KeepGoing = std::function<bool(const Progress&)>;
  Result<double> value_of(const std::string& model, const KeepGoing& keep_going) const;
  /// Quantizes with `settings` into `model`. Fails as quantize() and score() do.
  Result<Trial> try_settings(const std::vector<std::string>& settings, const std::string& model,
                             const KeepGoing& keep_going) const;

 private:
  explicit Judge(const TuneRequest& request) : request_(request) {}

  TuneRequest request_;
  Scale scale_;
  bool compares_ = false;
};

/// What single layers cost the outputs, and the blocks that cost most.
struct Sensitivity {
  std::vector<LayerSensitivity> layers;  ///< in node order
  std::vector<LayerBlock> blocks;        ///< the most harmful first
};

/// By the outputs on a few calibration samples, each layer quantized alone. `settings`: beyond those of the request;
/// `block_macs`: share of the multiply-accumulates that a block may have. Fails as analyze() does.
Result<Sensitivity> find_sensitivity(const TuneRequest& request, const std::vector<std::string>& settings,
                                     double block_macs, const Judge::KeepGoing& keep_going);

}  // namespace quarkq::tuning

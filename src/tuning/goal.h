// SPDX-License-Identifier: MIT
// What a tuned model has to reach, in the unit of its metric.
#pragma once

#include <optional>
#include <string>

#include "base/error.h"

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

}  // namespace quarkq::tuning

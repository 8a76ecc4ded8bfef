// SPDX-License-Identifier: MIT
// Makes a trial's model and finds what it is worth.
#pragma once

#include "base/error.h"
#include "quarkq/tune.h"
#include "tuning/goal.h"

namespace quarkq::tuning {

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

}  // namespace quarkq::tuning

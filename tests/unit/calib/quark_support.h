// SPDX-License-Identifier: MIT
// Runs the reference's calibration methods over samples in memory, with its fallback, and names them as it does.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "calib/method_options.h"

namespace quarkq::calib::quark_test {

using Samples = std::vector<std::vector<float>>;

struct Method {
  const char* name;  ///< as the reference's
  ObserverMaker* make;
  bool symmetric_range;  ///< its default of CalibTensorRangeSymmetric
  const char* fallback;
};

inline const Method& method_named(const std::string& name) {
  static const Method kMethods[] = {
      {"CalibrationMethod.MinMax", make_min_max_quark, false, nullptr},
      {"PowerOfTwoMethod.NonOverflow", make_min_max_quark, true, nullptr},
      {"CalibrationMethod.Percentile", make_percentile_quark, true, "CalibrationMethod.MinMax"},
      {"CalibrationMethod.Entropy", make_entropy_quark, false, "CalibrationMethod.MinMax"},
      {"CalibrationMethod.Distribution", make_distribution_quark, false, "CalibrationMethod.MinMax"},
      {"LayerWiseMethod.LayerWisePercentile", make_layerwise_percentile_quark, true, "CalibrationMethod.MinMax"},
      {"PowerOfTwoMethod.MinMSE", make_minmse_quark, true, "PowerOfTwoMethod.NonOverflow"},
  };
  for (const Method& method : kMethods) {
    if (name == method.name) return method;
  }
  ADD_FAILURE() << "no method " << name;
  return kMethods[0];
}

/// All passes that the observer asks for, then its range.
inline Result<numeric::Range> observed_range(ObserverMaker* make, const MethodOptions& options,
                                             const Samples& samples) {
  QQ_TRY(const std::unique_ptr<RangeObserver> observer, make(options));
  int passes = 0;
  do {
    for (const std::vector<float>& sample : samples) QQ_RETURN_IF_ERROR(observer->add(sample));
    if (++passes > 10) return internal_error("the observer asks for more than ten passes");
  } while (observer->wants_another_pass());
  return observer->finish();
}

struct Outcome {
  numeric::Range range;
  std::vector<std::string> methods_tried;
};

/// The range of `name`, or of its fallback. `symmetric_range` is null where the user did not set it.
inline Outcome calibrate(const std::string& name, MethodOptions options, const bool* symmetric_range,
                         const Samples& samples) {
  Outcome outcome;
  for (const char* next = method_named(name).name; next != nullptr;) {
    const Method& method = method_named(next);
    outcome.methods_tried.push_back(method.name);
    options.symmetric_range = symmetric_range != nullptr ? *symmetric_range : method.symmetric_range;
    const Result<numeric::Range> found = observed_range(method.make, options, samples);
    if (found.ok()) {
      outcome.range = found.value();
      return outcome;
    }
    next = method.fallback;
  }
  ADD_FAILURE() << name << ": every method failed";
  return outcome;
}

}  // namespace quarkq::calib::quark_test

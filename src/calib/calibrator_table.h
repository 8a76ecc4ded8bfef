// SPDX-License-Identifier: MIT
// The table of calibration methods: the statistics that each keeps, and the range that it computes from them.
#pragma once

#include <memory>
#include <vector>

#include "calib/method_options.h"
#include "calib/value_statistics.h"
#include "config/enums.h"

namespace quarkq::calib {

/// One method. A default row has `finish` and reads ValueStatistics; a compat row has `observe` and observes the
/// samples one by one.
struct Calibrator {
  config::CalibrateMethod method;
  const char* name;
  bool needs_bins;
  Result<numeric::Range> (*finish)(const ValueStatistics&, const MethodOptions&);
  Result<std::unique_ptr<RangeObserver>> (*observe)(const MethodOptions&);
  config::CalibrateMethod fallback;  ///< Compat mode: the method of all tensors if one fails
                                     ///< (ref:calibration#fallbacks); the method itself if there is none.
  const char* summary;

  bool is_compat() const { return observe != nullptr; }
};

const std::vector<Calibrator>& calibrators();
/// Returns the row of `method`, or null for methods that do not apply to activations.
const Calibrator* find_calibrator(config::CalibrateMethod method, bool compat);

/// Returns the range that a default row computes, made symmetric around 0 if the user requested it.
Result<numeric::Range> finish_range(const Calibrator& calibrator, const ValueStatistics& statistics,
                                    const MethodOptions& options);

// One function per method file.
Result<numeric::Range> finish_min_max(const ValueStatistics&, const MethodOptions&);
Result<numeric::Range> finish_percentile(const ValueStatistics&, const MethodOptions&);
Result<numeric::Range> finish_layerwise_percentile(const ValueStatistics&, const MethodOptions&);
Result<numeric::Range> finish_entropy(const ValueStatistics&, const MethodOptions&);
Result<numeric::Range> finish_distribution(const ValueStatistics&, const MethodOptions&);
Result<numeric::Range> finish_power_of_two_mse(const ValueStatistics&, const MethodOptions&);
Result<numeric::Range> finish_float_mse(const ValueStatistics&, const MethodOptions&);

/// Returns the position of the best power-of-two scale for the values in `statistics` (MinMSE's candidates).
Result<int> best_position(const ValueStatistics& statistics, const MethodOptions& options);

}  // namespace quarkq::calib

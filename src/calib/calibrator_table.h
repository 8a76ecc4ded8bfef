// SPDX-License-Identifier: MIT
// THE table of calibration methods: what each remembers, and how its range comes out of the statistics.
#pragma once

#include <vector>

#include "calib/value_statistics.h"
#include "config/enums.h"

namespace quarkq::calib {

/// The settings a method reads.
struct FinishOptions {
  numeric::QuantSpec spec;       ///< the activation's type and symmetry; its scale kind is the method's
  bool symmetric_range = false;  ///< CalibTensorRangeSymmetric
  bool moving_average = false;   ///< CalibMovingAverage
};

struct Calibrator {
  config::CalibrateMethod method;
  const char* name;
  bool needs_bins;
  numeric::Range (*finish)(const ValueStatistics&, const FinishOptions&);
  const char* summary;
};

const std::vector<Calibrator>& calibrators();
/// The row of `method`, or null when it is not built yet.
const Calibrator* find_calibrator(config::CalibrateMethod method);

// One function per method file.
numeric::Range finish_min_max(const ValueStatistics& statistics, const FinishOptions& options);
numeric::Range finish_power_of_two_mse(const ValueStatistics& statistics, const FinishOptions& options);

}  // namespace quarkq::calib

// SPDX-License-Identifier: MIT
#include "calib/calibrator_table.h"

namespace quarkq::calib {

const std::vector<Calibrator>& calibrators() {
  using config::CalibrateMethod;
  static const std::vector<Calibrator> kCalibrators = {
      {CalibrateMethod::kMinMax, "MinMax", false, finish_min_max, "smallest and largest value seen"},
      {CalibrateMethod::kNonOverflow, "NonOverflow", false, finish_min_max,
       "as MinMax, symmetric, for power-of-two scales"},
      {CalibrateMethod::kMinMSE, "MinMSE", true, finish_power_of_two_mse,
       "the power-of-two scale with the smallest squared error"},
  };
  return kCalibrators;
}

const Calibrator* find_calibrator(config::CalibrateMethod method) {
  for (const Calibrator& row : calibrators()) {
    if (row.method == method) return &row;
  }
  return nullptr;
}

}  // namespace quarkq::calib

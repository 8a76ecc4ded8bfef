// SPDX-License-Identifier: MIT
// The settings that calibration methods read (ref:calibration#method-options), each with the reference's default.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "numeric/quant_spec.h"

namespace quarkq::calib {

struct MethodOptions {
  numeric::QuantSpec spec;                   ///< the activation's type and symmetry; its scale kind is the method's
  bool is_half = false;                      ///< the tensor is float16 (its values come widened to float32)
  bool symmetric_range = false;              ///< CalibTensorRangeSymmetric, decided by method
  bool symmetric_asked = false;              ///< the user set CalibTensorRangeSymmetric: true
  bool moving_average = false;               ///< CalibMovingAverage
  std::optional<double> averaging_constant;  ///< CalibMovingAverageConstant, if the user set it
  double percentile = 99.999;                ///< Percentile, in [0, 100]
  std::optional<int64_t> num_bins;           ///< NumBins; absent: the method's own default
  int64_t num_quantized_bins = 128;          ///< NumQuantizedBins
  std::string scenario = "same";             ///< Scenario: "same" or "p3"
  std::string lwp_metric = "mae";            ///< LWPMetric: "mae" or "mse"
  std::vector<double> percentile_candidates = {99.99, 99.999, 99.99999};
  bool lwp_use_histogram = true;
  std::string minmse_mode = "All";   ///< MinMSEModePof2Scale: "All", "MostCommon", "Percentile"
  std::optional<bool> optimize_mem;  ///< CalibOptimizeMem; absent: the method's own default
  int64_t worker_num = 1;            ///< CalibWorkerNum
};

}  // namespace quarkq::calib

// SPDX-License-Identifier: MIT
// The settings that calibration methods read (ref:calibration#method-options), each with the reference's default.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "numeric/quant_params.h"

namespace quarkq::calib {

struct MethodOptions {
  numeric::QuantSpec spec;                   ///< The activation's type and symmetry; the method determines the scale
                                             ///< kind.
  bool is_half = false;                      ///< The tensor is float16 (its values are widened to float32).
  bool symmetric_range = false;              ///< CalibTensorRangeSymmetric, decided per method.
  bool symmetric_asked = false;              ///< The user set CalibTensorRangeSymmetric: true.
  bool moving_average = false;               ///< CalibMovingAverage
  std::optional<double> averaging_constant;  ///< CalibMovingAverageConstant, if the user set it.
  double percentile = 99.999;                ///< Percentile, in [0, 100]
  std::optional<int64_t> num_bins;           ///< NumBins; absent: the method's own default.
  int64_t num_quantized_bins = 128;          ///< NumQuantizedBins
  std::string scenario = "same";             ///< Scenario: "same" or "p3"
  std::string lwp_metric = "mae";            ///< LWPMetric: "mae" or "mse"
  std::vector<double> percentile_candidates = {99.99, 99.999, 99.99999};
  bool lwp_use_histogram = true;
  std::string minmse_mode = "All";   ///< MinMSEModePof2Scale: "All", "MostCommon", "Percentile"
  std::optional<bool> optimize_mem;  ///< CalibOptimizeMem; absent: the method's own default.
  int64_t worker_num = 1;            ///< CalibWorkerNum
};

/// RangeObserver: a method of the reference, which observes sample by sample in the order of the data (--compat). The
/// default methods read ValueStatistics instead, which no order can change.
class RangeObserver {
 public:
  virtual ~RangeObserver() = default;

  /// Observes the tensor in the next sample: all its values in ONNX order, including NaN and infinities. Fails if the
  /// reference fails; the tensor then uses the fallback method.
  virtual Status add(std::span<const float> values) = 0;

  /// Called once after every pass over the samples. Returns true to observe all of them again in the same order.
  virtual bool wants_another_pass() { return false; }

  /// REQUIRES: wants_another_pass() returned false.
  virtual Result<numeric::Range> finish() = 0;
};

// The reference's calibration methods, bit for bit (ref:calibration): the compat rows of calibrator_table.cpp.

using ObserverMaker = Result<std::unique_ptr<RangeObserver>>(const MethodOptions&);

/// MinMax and NonOverflow (ref:calibration#min-and-max).
ObserverMaker make_min_max_quark;
/// Percentile (ref:calibration#percentiles).
ObserverMaker make_percentile_quark;
/// Entropy (ref:calibration#entropy).
ObserverMaker make_entropy_quark;
/// Distribution (ref:calibration#distribution).
ObserverMaker make_distribution_quark;
/// LayerWisePercentile (ref:calibration#layerwise-percentile), on histograms or on the raw values.
ObserverMaker make_layerwise_percentile_quark;
/// MinMSE (ref:calibration#power-of-two-minmse), all modes.
ObserverMaker make_minmse_quark;

}  // namespace quarkq::calib

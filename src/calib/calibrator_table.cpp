// SPDX-License-Identifier: MIT
#include "calib/calibrator_table.h"

#include <algorithm>
#include <cmath>

#include "calib/quark_methods.h"

namespace quarkq::calib {

const std::vector<Calibrator>& calibrators() {
  using enum config::CalibrateMethod;
  static const std::vector<Calibrator> kCalibrators = {
      {kMinMax, "MinMax", false, finish_min_max, nullptr, kMinMax, "smallest and largest value seen"},
      {kNonOverflow, "NonOverflow", false, finish_min_max, nullptr, kNonOverflow,
       "as MinMax, symmetric, for power-of-two scales"},
      {kMinMSE, "MinMSE", true, finish_power_of_two_mse, nullptr, kMinMSE,
       "the power-of-two scale with the smallest squared error"},
      {kFloatMinMSE, "FloatMinMSE", true, finish_float_mse, nullptr, kFloatMinMSE,
       "the range with the smallest squared error, for float scales"},
      {kPercentile, "Percentile", true, finish_percentile, nullptr, kPercentile,
       "keeps a percentage of the values (Percentile)"},
      {kLayerWisePercentile, "LayerWisePercentile", true, finish_layerwise_percentile, nullptr, kLayerWisePercentile,
       "the percentile among PercentileCandidates with the smallest error, per tensor"},
      {kEntropy, "Entropy", true, finish_entropy, nullptr, kEntropy,
       "the range that loses the least information (Kullback-Leibler)"},
      {kDistribution, "Distribution", false, finish_distribution, nullptr, kDistribution,
       "symmetric largest magnitude, for float8"},
      {kMinMax, "MinMax-quark", false, nullptr, make_min_max_quark, kMinMax, "as the reference, sample by sample"},
      {kNonOverflow, "NonOverflow-quark", false, nullptr, make_min_max_quark, kNonOverflow, "as the reference"},
      {kMinMSE, "MinMSE-quark", false, nullptr, make_minmse_quark, kNonOverflow,
       "on the reference's histograms; falls back to NonOverflow"},
      {kPercentile, "Percentile-quark", false, nullptr, make_percentile_quark, kMinMax,
       "on the reference's histograms; falls back to MinMax"},
      {kLayerWisePercentile, "LayerWisePercentile-quark", false, nullptr, make_layerwise_percentile_quark, kMinMax,
       "on the reference's histograms; falls back to MinMax"},
      {kEntropy, "Entropy-quark", false, nullptr, make_entropy_quark, kMinMax,
       "on the reference's histograms; falls back to MinMax"},
      {kDistribution, "Distribution-quark", false, nullptr, make_distribution_quark, kMinMax,
       "on the reference's histograms; falls back to MinMax"},
  };
  return kCalibrators;
}

const Calibrator* find_calibrator(config::CalibrateMethod method, bool compat) {
  for (const Calibrator& row : calibrators()) {
    if (row.method == method && row.is_compat() == compat) return &row;
  }
  return nullptr;
}

Result<numeric::Range> finish_range(const Calibrator& calibrator, const ValueStatistics& statistics,
                                    const MethodOptions& options) {
  QQ_TRY(const numeric::Range range, calibrator.finish(statistics, options));
  if (!options.symmetric_asked) return range;
  const float most = std::max(std::abs(range.min), std::abs(range.max));
  return numeric::Range{-most, most};
}

}  // namespace quarkq::calib

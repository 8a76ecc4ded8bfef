// SPDX-License-Identifier: MIT
// Percentile (ref:calibration#percentiles) and LayerWisePercentile (ref:calibration#layerwise-percentile) from the
// fixed bins.
#include "calib/calibrator_table.h"
#include "calib/grid_error.h"
#include "calib/quantiles.h"

namespace quarkq::calib {
namespace {

Status check_percent(double percent, const char* option) {
  if (percent >= 0 && percent <= 100) return Status();
  return invalid_argument(option, ": found ", percent, ", allowed is 0 to 100");
}

/// Candidates are scored on the activation's full range without symmetry, whatever its own settings say
/// (ref:calibration#layerwise-percentile).
Result<double> candidate_error(const std::vector<WeightedValue>& values, numeric::Range range,
                               const MethodOptions& options) {
  numeric::QuantSpec spec;
  spec.type = options.spec.type;
  spec.symmetric = false;
  QQ_TRY(const numeric::QuantParams params, numeric::params_for_range(spec, range));
  const GridError error = grid_error(values, spec.range(), params.zero_point, params.scale);
  return options.lwp_metric == "mse" ? error.squared : error.absolute;
}

}  // namespace

Result<numeric::Range> finish_percentile(const ValueStatistics& statistics, const MethodOptions& options) {
  QQ_RETURN_IF_ERROR(check_percent(options.percentile, "Percentile"));
  return percentile_range(statistics, options.percentile, options.symmetric_range);
}

Result<numeric::Range> finish_layerwise_percentile(const ValueStatistics& statistics, const MethodOptions& options) {
  if (options.lwp_metric != "mae" && options.lwp_metric != "mse") {
    return invalid_argument("LWPMetric: found ", options.lwp_metric, ", allowed is mae or mse");
  }
  if (options.percentile_candidates.empty()) return invalid_argument("PercentileCandidates: found none, one is needed");
  const std::vector<WeightedValue> values = statistics.bins();
  numeric::Range best;
  double best_error = -1;
  for (const double percent : options.percentile_candidates) {
    QQ_RETURN_IF_ERROR(check_percent(percent, "PercentileCandidates"));
    const numeric::Range range = percentile_range(statistics, percent, options.symmetric_range);
    QQ_TRY(const double error, candidate_error(values, range, options));
    if (best_error >= 0 && error >= best_error) continue;
    best_error = error;
    best = range;
  }
  return best;
}

}  // namespace quarkq::calib

// SPDX-License-Identifier: MIT
// MinMSE, from the bins instead of the reference's histogram: among power-of-two scales
// (ref:calibration#power-of-two-minmse), and among float scales, which the reference has for weights only.
#include <algorithm>
#include <array>
#include <cmath>

#include "calib/calibrator_table.h"
#include "calib/grid_error.h"
#include "calib/quantiles.h"

namespace quarkq::calib {
namespace {

/// Coarsest first: twice the scale of the observed range, down to an eighth of it.
constexpr std::array<int, 5> kPositionOffsets = {-1, 0, 1, 2, 3};

numeric::QuantSpec searched_spec(const MethodOptions& options) {
  numeric::QuantSpec spec = options.spec;
  spec.symmetric = options.symmetric_range;
  spec.scale = numeric::ScaleKind::kPowerOfTwo;
  return spec;
}

/// The scale with the smallest squared error over `values`; the first (largest) one on ties.
Result<numeric::QuantParams> search(const std::vector<WeightedValue>& values, numeric::Range extremes,
                                    const numeric::QuantSpec& spec) {
  QQ_TRY(const numeric::QuantParams start, numeric::params_for_range(spec, extremes));
  const int position = numeric::power_of_two_position(start.scale);
  numeric::QuantParams best = start;
  double best_error = -1;
  for (const int offset : kPositionOffsets) {
    const float scale = numeric::scale_of_position(position + offset);
    const double error = grid_error(values, spec.range(), start.zero_point, scale).squared;
    if (best_error >= 0 && error >= best_error) continue;
    best_error = error;
    best.scale = scale;
  }
  return best;
}

/// Mode "Percentile": only the values inside the percentile's range count. The middle of an outermost bin may lie
/// beyond every value in it.
Result<numeric::QuantParams> search_kept(const ValueStatistics& statistics, const MethodOptions& options,
                                         const numeric::QuantSpec& spec) {
  const numeric::Range kept = percentile_range(statistics, options.percentile, options.symmetric_range);
  std::vector<WeightedValue> values;
  const numeric::Range all = statistics.extremes();
  for (const WeightedValue& value : statistics.bins()) {
    const float inside = std::clamp(value.value, all.min, all.max);
    if (inside >= kept.min && inside <= kept.max) values.push_back(value);
  }
  return search(values, kept, spec);
}

/// Mode "MostCommon": the scale that was best in most samples, the smallest one on ties.
Result<numeric::QuantParams> most_common(const ValueStatistics& statistics, const numeric::QuantSpec& spec) {
  QQ_TRY(numeric::QuantParams params, numeric::params_for_range(spec, statistics.extremes()));
  uint64_t most = 0;
  for (const auto& [position, count] : statistics.votes) {
    if (count < most) continue;
    most = count;
    params.scale = numeric::scale_of_position(position);
  }
  return params;
}

enum class Ends { kMin, kMax, kBoth };

/// Moves the given ends of `range` towards zero, in steps of 1/64, to where the squared error is smallest.
Status fit_ends(const std::vector<WeightedValue>& values, const numeric::QuantSpec& spec, Ends ends,
                numeric::Range& range) {
  constexpr int kSteps = 64;
  const numeric::Range whole = range;
  double least = -1;
  for (int step = kSteps; step > 0; --step) {
    const float share = static_cast<float>(step) / kSteps;
    const numeric::Range tried = {ends == Ends::kMax ? whole.min : whole.min * share,
                                  ends == Ends::kMin ? whole.max : whole.max * share};
    QQ_TRY(const numeric::QuantParams params, numeric::params_for_range(spec, tried));
    const double error = grid_error(values, spec.range(), params.zero_point, params.scale).squared;
    if (least >= 0 && error >= least) continue;
    least = error;
    range = tried;
  }
  return {};
}

}  // namespace

Result<int> best_position(const ValueStatistics& statistics, const MethodOptions& options) {
  QQ_TRY(const numeric::QuantParams best, search(statistics.bins(), statistics.extremes(), searched_spec(options)));
  return numeric::power_of_two_position(best.scale);
}

Result<numeric::Range> finish_power_of_two_mse(const ValueStatistics& statistics, const MethodOptions& options) {
  const numeric::QuantSpec spec = searched_spec(options);
  Result<numeric::QuantParams> best = Status(Code::kInternal, "not searched");
  if (options.minmse_mode == "Percentile") {
    best = search_kept(statistics, options, spec);
  } else if (options.minmse_mode == "MostCommon" && !statistics.votes.empty()) {
    best = most_common(statistics, spec);
  } else {
    best = search(statistics.bins(), statistics.extremes(), spec);
  }
  if (!best.ok()) return best.status();
  return numeric::representable_range(spec, best.value());
}

/// Fits the end that is farther from zero first, because its outliers widen the steps.
Result<numeric::Range> finish_float_mse(const ValueStatistics& statistics, const MethodOptions& options) {
  numeric::QuantSpec spec = options.spec;
  spec.scale = numeric::ScaleKind::kFloat;
  const std::vector<WeightedValue> values = statistics.bins();
  numeric::Range range = statistics.extremes();
  if (spec.symmetric || options.symmetric_range) {
    const float most = std::max(std::abs(range.min), std::abs(range.max));
    range = {-most, most};
    QQ_RETURN_IF_ERROR(fit_ends(values, spec, Ends::kBoth, range));
    return range;
  }
  const bool is_max_first = range.max >= -range.min;
  QQ_RETURN_IF_ERROR(fit_ends(values, spec, is_max_first ? Ends::kMax : Ends::kMin, range));
  QQ_RETURN_IF_ERROR(fit_ends(values, spec, is_max_first ? Ends::kMin : Ends::kMax, range));
  return range;
}

}  // namespace quarkq::calib

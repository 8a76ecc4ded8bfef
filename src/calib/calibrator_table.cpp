// SPDX-License-Identifier: MIT
#include "calib/calibrator_table.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "calib/divergence.h"
#include "calib/method_options.h"
#include "calib/value_statistics.h"

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

// MinMax and NonOverflow (ref:calibration#min-and-max).

namespace {

/// Average of the samples' extremes, in sample order and in double. With a constant each sample after the first moves
/// it by that share of the distance; without one it is the mean.
numeric::Range average_extremes(const std::vector<SampleRecord>& records, std::optional<double> constant) {
  double low = 0, high = 0, count = 0;
  for (const SampleRecord& record : records) {
    if (record.finite == 0) continue;
    const bool is_moved = constant && count > 0;
    low += is_moved ? *constant * (record.range.min - low) : record.range.min;
    high += is_moved ? *constant * (record.range.max - high) : record.range.max;
    ++count;
  }
  if (count == 0) return {};
  const double parts = constant ? 1 : count;
  return {static_cast<float>(low / parts), static_cast<float>(high / parts)};
}

}  // namespace

Result<numeric::Range> finish_min_max(const ValueStatistics& statistics, const MethodOptions& options) {
  numeric::Range range = options.moving_average ? average_extremes(statistics.records(), options.averaging_constant)
                                                : statistics.extremes();
  if (!options.symmetric_range) return range;
  const float most = std::max(std::abs(range.min), std::abs(range.max));
  return numeric::Range{-most, most};
}

// Percentile (ref:calibration#percentiles) and LayerWisePercentile (ref:calibration#layerwise-percentile) from the
// fixed bins.

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

// Entropy (ref:calibration#entropy) from the fixed bins: of the ranges about zero the one whose histogram loses least
// when it is quantized to NumQuantizedBins levels. With as many bins as levels, the default, that is the whole range
// (ADR 0006).

namespace {

constexpr int64_t kDefaultBins = 128;      // the reference's
constexpr int64_t kMostNumBins = 1 << 14;  // the search grows with the square

/// Equal bins over [-limit, limit].
struct LinearHistogram {
  double limit = 0;
  std::vector<int64_t> counts;

  double edge(int64_t i) const {
    return limit * (2.0 * static_cast<double>(i) / static_cast<double>(counts.size()) - 1.0);
  }
};

/// A fixed bin's values count as spread evenly. Its parts are whole numbers that add up to its count.
void spread(const WeightedValue& bin, LinearHistogram& histogram) {
  const auto size = static_cast<double>(histogram.counts.size());
  const double low = static_cast<double>(bin.value) - static_cast<double>(bin.width) / 2;
  const double high = low + static_cast<double>(bin.width);
  auto place = [&](double value) {
    const double position = (value / histogram.limit + 1.0) * 0.5 * size;
    return static_cast<size_t>(std::clamp(std::floor(position), 0.0, size - 1.0));
  };
  const size_t first = place(low), last = place(high);
  uint64_t given = 0;
  for (size_t i = first; i < last; ++i) {
    const double share = (histogram.edge(static_cast<int64_t>(i) + 1) - low) / (high - low);
    const auto until = static_cast<uint64_t>(std::floor(share * static_cast<double>(bin.count) + 0.5));
    histogram.counts[i] += static_cast<int64_t>(until - given);
    given = until;
  }
  histogram.counts[last] += static_cast<int64_t>(bin.count - given);
}

}  // namespace

Result<numeric::Range> finish_entropy(const ValueStatistics& statistics, const MethodOptions& options) {
  const numeric::Range extremes = statistics.extremes();
  LinearHistogram histogram;
  histogram.limit = std::max(std::abs(static_cast<double>(extremes.min)), std::abs(static_cast<double>(extremes.max)));
  if (histogram.limit == 0) return numeric::Range{};
  const int64_t size = options.num_bins.value_or(kDefaultBins), levels = options.num_quantized_bins;
  if (levels < 1 || size < levels || size > kMostNumBins) {
    return invalid_argument("NumBins: found ", size, ", allowed is NumQuantizedBins (", levels, ") to ", kMostNumBins);
  }
  histogram.counts.assign(static_cast<size_t>(size), 0);
  for (const WeightedValue& bin : statistics.bins()) spread(bin, histogram);
  const int64_t middle = size / 2, narrowest = levels / 2;
  DivergenceSearch search(histogram.counts, levels);
  numeric::Range best = extremes;
  float least = std::numeric_limits<float>::infinity();
  for (int64_t reach = narrowest; reach <= middle; ++reach) {
    const int64_t begin = middle - reach, end = std::min(middle + reach + 1, size);
    QQ_TRY(const float found, search.divergence(begin, end));
    if (!(found < least)) continue;
    least = found;
    best = {static_cast<float>(histogram.edge(begin)), static_cast<float>(histogram.edge(end))};
  }
  return numeric::Range{std::max(best.min, extremes.min), std::min(best.max, extremes.max)};
}

// Distribution (ref:calibration#distribution): the range is the largest magnitude on both sides. What the reference
// computes beside it (mean and deviation, Scenario) is not used by its quantizers.

Result<numeric::Range> finish_distribution(const ValueStatistics& statistics, const MethodOptions& options) {
  if (options.scenario != "same" && options.scenario != "p3") {
    return invalid_argument("Scenario: found ", options.scenario, ", allowed is same or p3");
  }
  const numeric::Range extremes = statistics.extremes();
  const float most = std::max(std::abs(extremes.min), std::abs(extremes.max));
  if (most == 0) return numeric::Range{-0.5f, 0.5f};  // the histogram of a tensor of zeros
  return numeric::Range{-most, most};
}

// MinMSE, from the bins instead of the reference's histogram: among power-of-two scales
// (ref:calibration#power-of-two-minmse), and among float scales, which the reference has for weights only.

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

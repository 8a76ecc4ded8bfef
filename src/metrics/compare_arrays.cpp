// SPDX-License-Identifier: MIT
#include "metrics/compare_arrays.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "metrics/ssim.h"

namespace quarkq::metrics {
namespace {

/// Narrower integers may be pixels or sound.
bool is_choice(ElementType type) { return type == ElementType::kBool || (is_integer(type) && bits(type) >= 32); }

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

double to_float32(double value) { return static_cast<double>(static_cast<float>(value)); }

/// The reference's figures: float32 arrays and results, except that psnr widens to double when it meets its floor.
void round_as_reference(const numeric::PairSums& sums, PairMetrics& metrics) {
  const bool no_angle = sums.norm_a == 0 || sums.norm_b == 0;
  metrics.cosine = no_angle ? kNaN : to_float32(metrics.cosine);
  metrics.l2 = to_float32(metrics.l2);
  if (sums.max_a > 0 && metrics.l2 > 0) metrics.psnr = to_float32(metrics.psnr);
  metrics.ssim = to_float32(metrics.ssim);
}

/// Mean, smallest and largest of one metric over all pairs. A NaN makes all three NaN.
struct Summary {
  double mean = 0, min = 0, max = 0;
};

Summary summarize(const std::vector<PairMetrics>& pairs, double PairMetrics::*metric, bool compat) {
  Summary summary;
  summary.min = summary.max = pairs[0].*metric;
  bool all_float32 = true;
  for (const PairMetrics& pair : pairs) {
    const double value = pair.*metric;
    if (std::isnan(value)) return {value, value, value};
    summary.mean += value;
    summary.min = std::min(summary.min, value);
    summary.max = std::max(summary.max, value);
    all_float32 = all_float32 && value == to_float32(value);
  }
  summary.mean /= static_cast<double>(pairs.size());
  if (compat && all_float32) summary.mean = to_float32(summary.mean);
  return summary;
}

}  // namespace

Result<ArrayPair> pair_arrays(const ir::Tensor& baseline, const std::string& baseline_name, const ir::Tensor& quantized,
                              const std::string& quantized_name) {
  if (baseline.dims() != quantized.dims()) {
    return bad_data(quantized_name, ": shape ", shape_text(quantized.dims()), ", ", baseline_name, " has ",
                    shape_text(baseline.dims()));
  }
  if (baseline.size() == 0) return bad_data(baseline_name, ": holds no values, shape ", shape_text(baseline.dims()));
  ArrayPair arrays;
  arrays.dims = baseline.dims();
  arrays.is_choice = is_choice(baseline.type());
  QQ_TRY(arrays.baseline, ir::to_double(baseline));
  QQ_TRY(arrays.quantized, ir::to_double(quantized));
  return arrays;
}

Comparison compare_arrays(ArrayPair& arrays, bool compat) {
  if (compat) {
    std::ranges::transform(arrays.baseline, arrays.baseline.begin(), to_float32);
    std::ranges::transform(arrays.quantized, arrays.quantized.begin(), to_float32);
  }
  Comparison found;
  found.sums = compat ? numeric::pair_sums_of_all(arrays.baseline, arrays.quantized)
                      : numeric::pair_sums(arrays.baseline, arrays.quantized);
  PairMetrics& metrics = found.metrics;
  metrics.cosine = numeric::cosine(found.sums);
  metrics.l2 = numeric::l2_distance(found.sums);
  metrics.psnr = numeric::psnr_db(found.sums, compat ? numeric::Peak::kSigned : numeric::Peak::kMagnitude);
  const bool is_partial = found.sums.same + found.sums.differing > 0;
  const auto part = is_partial ? numeric::finite_part(arrays.baseline, arrays.quantized) : std::nullopt;
  metrics.ssim = ssim(part ? part->a : arrays.baseline, part ? part->b : arrays.quantized, split_images(arrays.dims),
                      compat ? WindowMoments::kRaw : WindowMoments::kCentral);
  metrics.sqnr_db = numeric::sqnr_db(found.sums);
  metrics.max_abs = found.sums.max_distance;
  metrics.same_not_finite = found.sums.same;
  metrics.different_not_finite = found.sums.differing;
  if (found.sums.differing > 0)
    metrics.l2 = metrics.psnr = metrics.ssim = metrics.sqnr_db = metrics.max_abs = kNaN;  // gates fail
  if (compat) round_as_reference(found.sums, metrics);
  metrics.is_choice = arrays.is_choice;
  return found;
}

void aggregate(EvaluateReport& report, bool compat) {
  const Summary cosine = summarize(report.pairs, &PairMetrics::cosine, compat);
  const Summary l2 = summarize(report.pairs, &PairMetrics::l2, compat);
  const Summary psnr = summarize(report.pairs, &PairMetrics::psnr, compat);
  const Summary ssim = summarize(report.pairs, &PairMetrics::ssim, compat);
  report.mean_cosine = cosine.mean, report.min_cosine = cosine.min;
  report.mean_l2 = l2.mean, report.max_l2 = l2.max;
  report.mean_psnr = psnr.mean, report.min_psnr = psnr.min;
  report.mean_ssim = ssim.mean, report.min_ssim = ssim.min;
}

}  // namespace quarkq::metrics

// SPDX-License-Identifier: MIT
#include "quarkq/evaluate.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "pipeline/metrics.h"
#include "pipeline/result_pairs.h"
#include "pipeline/ssim.h"

namespace quarkq {
namespace {

bool is_zero(const std::vector<double>& values) {
  for (const double value : values) {
    if (value != 0) return false;
  }
  return true;
}

double to_float32(double value) { return static_cast<double>(static_cast<float>(value)); }

PairMetrics compare(const std::vector<double>& baseline, const std::vector<double>& quantized, const ir::Shape& dims) {
  PairMetrics metrics;
  metrics.cosine = pipeline::cosine(baseline, quantized);
  metrics.l2 = pipeline::l2_distance(baseline, quantized);
  metrics.psnr = pipeline::psnr_db(baseline, quantized, pipeline::Peak::kMagnitude);
  metrics.ssim = pipeline::ssim(baseline, quantized, pipeline::split_images(dims), pipeline::WindowMoments::kCentral);
  return metrics;
}

/// The reference's figures: float32 arrays and results, except that psnr widens to double when it meets its floor.
PairMetrics compare_as_reference(std::vector<double> baseline, std::vector<double> quantized, const ir::Shape& dims) {
  for (double& value : baseline) value = to_float32(value);
  for (double& value : quantized) value = to_float32(value);
  PairMetrics metrics;
  const bool no_angle = is_zero(baseline) || is_zero(quantized);
  metrics.cosine =
      no_angle ? std::numeric_limits<double>::quiet_NaN() : to_float32(pipeline::cosine(baseline, quantized));
  metrics.l2 = to_float32(pipeline::l2_distance(baseline, quantized));
  metrics.psnr = pipeline::psnr_db(baseline, quantized, pipeline::Peak::kSigned);
  double peak = baseline[0];
  for (const double value : baseline) peak = value > peak ? value : peak;
  if (peak > 0 && metrics.l2 > 0) metrics.psnr = to_float32(metrics.psnr);
  metrics.ssim =
      to_float32(pipeline::ssim(baseline, quantized, pipeline::split_images(dims), pipeline::WindowMoments::kRaw));
  return metrics;
}

Result<PairMetrics> compare_pair(const pipeline::ResultPair& pair, bool compat) {
  QQ_TRY(const pipeline::ResultArrays arrays, pipeline::read_result_pair(pair));
  QQ_TRY(std::vector<double> baseline, ir::to_double(arrays.baseline));
  QQ_TRY(std::vector<double> quantized, ir::to_double(arrays.quantized));
  const ir::Shape& dims = arrays.baseline.dims();
  PairMetrics metrics = compat ? compare_as_reference(std::move(baseline), std::move(quantized), dims)
                               : compare(baseline, quantized, dims);
  metrics.file = pair.name;
  return metrics;
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

Result<EvaluateReport> evaluate(const EvaluateRequest& request) {
  QQ_TRY(const std::vector<pipeline::ResultPair> pairs,
         pipeline::find_result_pairs(request.baseline_folder, request.quantized_folder));
  EvaluateReport report;
  for (const pipeline::ResultPair& pair : pairs) {
    QQ_TRY(PairMetrics metrics, compare_pair(pair, request.compat));
    report.pairs.push_back(std::move(metrics));
  }
  const Summary cosine = summarize(report.pairs, &PairMetrics::cosine, request.compat);
  const Summary l2 = summarize(report.pairs, &PairMetrics::l2, request.compat);
  const Summary psnr = summarize(report.pairs, &PairMetrics::psnr, request.compat);
  const Summary ssim = summarize(report.pairs, &PairMetrics::ssim, request.compat);
  report.mean_cosine = cosine.mean, report.min_cosine = cosine.min;
  report.mean_l2 = l2.mean, report.max_l2 = l2.max;
  report.mean_psnr = psnr.mean, report.min_psnr = psnr.min;
  report.mean_ssim = ssim.mean, report.min_ssim = ssim.min;
  return report;
}

}  // namespace quarkq

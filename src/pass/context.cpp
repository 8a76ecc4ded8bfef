// SPDX-License-Identifier: MIT
#include "pass/context.h"

#include "plan/stage.h"

namespace quarkq::pass {

using config::CalibrateMethod;

calib::MethodOptions method_options(const config::Settings& settings) {
  calib::MethodOptions options;
  options.spec.type = plan::element_type(settings.formats.activation_type);
  options.spec.symmetric = settings.formats.activation_symmetric;
  options.spec.scale = plan::activation_scale_kind(settings);
  options.symmetric_range = settings.ranges.calib_tensor_range_symmetric;
  options.symmetric_asked =
      options.symmetric_range && config::is_users(settings.origin_of("CalibTensorRangeSymmetric"));
  options.moving_average = settings.ranges.calib_moving_average;
  if (config::is_users(settings.origin_of("CalibMovingAverageConstant")))
    options.averaging_constant = settings.ranges.calib_moving_average_constant;
  options.percentile = settings.ranges.percentile;
  options.num_bins = settings.ranges.num_bins;
  options.num_quantized_bins = settings.ranges.num_quantized_bins;
  options.scenario = settings.ranges.scenario;
  options.lwp_metric = settings.ranges.lwp_metric;
  options.percentile_candidates = settings.ranges.percentile_candidates;
  options.lwp_use_histogram = settings.ranges.lwp_use_histogram;
  options.minmse_mode = settings.ranges.min_mse_mode_pof2_scale;
  options.optimize_mem = settings.ranges.calib_optimize_mem;
  options.worker_num = settings.ranges.calib_worker_num;
  return options;
}

calib::MethodOptions fallback_options(const config::Settings& settings, CalibrateMethod fallback) {
  calib::MethodOptions options = method_options(settings);
  if (settings.origin_of("CalibTensorRangeSymmetric") == config::Origin::kDefault) {
    options.symmetric_range = fallback == CalibrateMethod::kNonOverflow;
  }
  return options;
}

calib::CollectOptions collect_options(const config::Settings& settings) {
  calib::CollectOptions options;
  const calib::Calibrator* calibrator = calib::find_calibrator(settings.ranges.calibrate_method, /*compat=*/false);
  options.with_bins = settings.ranges.save_tensor_hist_fig || (calibrator != nullptr && calibrator->needs_bins);
  const bool votes = settings.ranges.calibrate_method == CalibrateMethod::kMinMSE &&
                     settings.ranges.min_mse_mode_pof2_scale == "MostCommon";
  if (votes) options.votes = method_options(settings);
  return options;
}

calib::SampleRunOptions sample_run_options(const exec::Environment& environment, const config::Settings& settings,
                                           const std::vector<ir::ValueId>& tensors, const Progress& progress) {
  calib::SampleRunOptions options;
  options.tensors = tensors;
  options.order = settings.quirk(config::Quirk::kAnySampleOrder) ? calib::ValueOrder::kAny : calib::ValueOrder::kOnnx;
  options.allow_non_finite =
      settings.calibration.allow_non_finite.value_or(!settings.quirk(config::Quirk::kRefuseNonFiniteInputs));
  options.progress = progress;
  options.backend = environment.backend;
  return options;
}

Result<const calib::Calibrator*> asked_calibrator(const config::Settings& settings) {
  const calib::Calibrator* calibrator =
      calib::find_calibrator(settings.ranges.calibrate_method, !settings.quirk(config::Quirk::kMergeableStatistics));
  if (calibrator != nullptr) return calibrator;
  return invalid_argument("calibrate_method: found ", config::enum_text(settings.ranges.calibrate_method),
                          ", which is not a method for activations");
}

}  // namespace quarkq::pass

// SPDX-License-Identifier: MIT
#include "pipeline/plan_model.h"

#include "calib/statistics_file.h"

namespace quarkq::pipeline {
namespace {

Status check_statistics(const std::string& model_path, const ir::Model& original, const passes::PassContext& context) {
  if (context.statistics == nullptr) return Status();
  QQ_TRY(const calib::StatisticsOrigin own,
         statistics_origin(model_path, original, context.model, context.settings, 0));
  const bool allow_other_isa = context.settings.calibration.allow_other_isa.value_or(false);
  const std::string difference = calib::run_difference(context.statistics->origin, own, allow_other_isa);
  return difference.empty() ? Status() : bad_data("statistics: ", difference);
}

}  // namespace

size_t Source::size() const {
  if (statistics) return statistics->samples.size();
  return samples.opened ? samples.opened->size() : 0;
}

Result<Source> open_source(const std::string& model_path, const std::string& calib_folder,
                           const std::string& statistics_path, const Job& job) {
  const config::CalibrationBlock& block = job.settings.calibration;
  Source source;
  source.model_path = model_path;
  QQ_TRY(source.samples.opened, open_samples(calib_folder, job.settings, job.model.graph));
  const std::string file = !statistics_path.empty() ? statistics_path : block.stats.value_or("");
  if (file.empty()) return source;
  if (job.settings.compat) return invalid_argument(file, ": --compat calibrates from samples, not from statistics");
  QQ_TRY(source.statistics, calib::load_statistics(file));
  if (!block.allow_partial.value_or(false)) QQ_RETURN_IF_ERROR(calib::check_complete(*source.statistics, file));
  return source;
}

Result<FloatModels> plan_model(Source& source, passes::PassContext& context, const char* until,
                               std::vector<PhaseTime>& times, const RunnerOptions& options) {
  constexpr const char* kCalibrate = "calibrate";
  context.statistics = source.statistics ? &*source.statistics : nullptr;
  QQ_TRY(ir::Model original, run_float_phases(context, source.samples, nullptr, kCalibrate, times, options));
  QQ_RETURN_IF_ERROR(check_statistics(source.model_path, original, context));
  ir::Model calibrated = context.model;  // shares the weights; what finetuned layers come close to
  context.float_model = &calibrated;
  QQ_RETURN_IF_ERROR(run_passes(context, {.from = kCalibrate, .until = until}, times, options));
  context.float_model = nullptr;
  return FloatModels{std::move(original), std::move(calibrated)};
}

}  // namespace quarkq::pipeline

// SPDX-License-Identifier: MIT
#include "pipeline/plan_model.h"

#include "calib/statistics_file.h"

namespace quarkq::pipeline {
namespace {

Status check_statistics(const ModelFile& model, const ir::Model& original, const RunState& state) {
  if (state.source.statistics == nullptr) return Status();
  QQ_TRY(const calib::StatisticsOrigin own, statistics_origin(model, original, state.model, state.settings, 0));
  const bool allow_other_isa = state.settings.calibration.allow_other_isa.value_or(false);
  const std::string difference = calib::run_difference(state.source.statistics->origin, own, allow_other_isa);
  return difference.empty() ? Status() : bad_data("statistics: ", difference);
}

}  // namespace

size_t Source::size() const {
  if (statistics) return statistics->samples.size();
  return samples.opened ? samples.opened->size() : 0;
}

Result<Source> open_source(const SourceRequest& request, const Job& job) {
  const config::CalibrationBlock& block = job.settings.calibration;
  Source source{request.model, {}, {}, {}};
  QQ_TRY(source.samples.opened, open_samples(request.samples, request.calib_folder, job));
  const std::string file = !request.statistics_path.empty() ? request.statistics_path : block.stats.value_or("");
  if (file.empty()) return source;
  if (job.settings.compat) return invalid_argument(file, ": --compat calibrates from samples, not from statistics");
  QQ_TRY(source.statistics, calib::load_statistics(file));
  if (!block.allow_partial.value_or(false)) QQ_RETURN_IF_ERROR(calib::check_complete(*source.statistics, file));
  return source;
}

Result<ir::Model> plan_model(Source& source, RunState& state, pass::Phase until, std::vector<PassTime>& times,
                             const RunnerOptions& options) {
  state.source.statistics = source.statistics ? &*source.statistics : nullptr;
  QQ_TRY(ir::Model original, run_float_phases(state, source.samples, pass::Phase::kCalibrate, times, options));
  QQ_RETURN_IF_ERROR(check_statistics(source.model, original, state));
  QQ_RETURN_IF_ERROR(run_passes(state, {.from = pass::Phase::kCalibrate, .until = until}, times, options));
  return original;
}

}  // namespace quarkq::pipeline

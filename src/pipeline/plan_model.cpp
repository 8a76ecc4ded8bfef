// SPDX-License-Identifier: MIT
#include "pipeline/plan_model.h"

#include "calib/callback_reader.h"
#include "calib/refuse_empty.h"
#include "calib/some_samples.h"
#include "calib/statistics_file.h"
#include "config/evaluation_settings.h"
#include "pipeline/compare.h"
#include "pipeline/plausible_inputs.h"
#include "pipeline/use_backend.h"
#include "pipeline/user_operators.h"

namespace quarkq::pipeline {
namespace {

Status check_statistics(const ModelFile& model, const ir::Model& original, const RunState& state) {
  if (state.source.statistics == nullptr) return Status();
  QQ_TRY(const calib::StatisticsOrigin own, statistics_origin(model, original, state.model, state.settings, 0));
  const bool allow_other_isa = state.settings.calibration.allow_other_isa.value_or(false);
  const std::string difference = calib::run_difference(state.source.statistics->origin, own, allow_other_isa);
  return difference.empty() ? Status() : bad_data("statistics: ", difference);
}

/// Samples of --eval, else those that the settings name, all of the folder. Null when there are none.
Result<std::unique_ptr<calib::DataReader>> open_evaluation(const SourceRequest& request, const Job& job,
                                                           std::string& folder) {
  folder = request.eval_folder;
  if (request.eval_samples) {
    if (!folder.empty())
      return invalid_argument("--eval: found both a folder and a source in memory, give one of them");
    return calib::refuse_empty(calib::make_callback_reader(calib::input_specs(job.model.graph), request.eval_samples));
  }
  if (folder.empty() && job.settings.evaluation.eval_metrics) {
    QQ_TRY(folder, config::evaluation_folder(job.settings));
  }
  if (folder.empty()) return std::unique_ptr<calib::DataReader>();
  QQ_TRY(calib::DataOptions options, data_options(job.settings));
  options.folder = folder;
  return calib::refuse_empty(calib::open_data(options, calib::input_specs(job.model.graph)));
}

}  // namespace

SourceRequest source_request(const QuantizeRequest& request, const ModelFile& file) {
  return {file,
          request.sample_source,
          request.calib_folder,
          request.statistics_path,
          request.eval_folder,
          request.eval_source};
}

size_t Source::size() const {
  if (statistics) return statistics->samples.size();
  return samples.opened ? samples.opened->size() : 0;
}

Result<Source> open_source(const SourceRequest& request, const Job& job, Diagnostics& diagnostics) {
  const config::CalibrationBlock& block = job.settings.calibration;
  Source source;
  source.model = request.model;
  QQ_TRY(source.samples.opened, open_samples(request.samples, request.calib_folder, job));
  QQ_TRY(source.evaluation.opened, open_evaluation(request, job, source.evaluation_folder));
  if (source.samples.opened != nullptr) {
    report_notes(*source.samples.opened, diagnostics);
    source.available = source.samples.opened->size();
    if (request.most_samples > 0 && source.available > request.most_samples) {
      source.samples.opened = std::make_unique<calib::SomeSamples>(
          std::move(source.samples.opened), spread_samples(source.available, request.most_samples));
    }
    auto observed =
        std::make_unique<calib::ObservedReader>(std::move(source.samples.opened), calib::input_specs(job.model.graph));
    source.observed = observed.get();
    source.samples.opened = std::move(observed);
    source.is_random = is_random_data(request.samples, request.calib_folder, job.settings);
    if (!source.is_random) check_plausible(job.model, *source.observed, diagnostics);
  }
  const std::string file = !request.statistics_path.empty() ? request.statistics_path : block.stats.value_or("");
  if (file.empty() && source.observed != nullptr) {
    report_backend(diagnostics);
    const config::DataType type = job.settings.formats.activation_type;
    const bool measures_ranges = !config::is_half(type) && !config::is_block(type);  // the others only compare
    if (measures_ranges) QQ_RETURN_IF_ERROR(check_operators_known(job.model).context(request.model.path));
  }
  if (file.empty()) return source;
  if (!job.settings.quirk(config::Quirk::kMergeableStatistics))
    return invalid_argument(file, ": --compat calibrates from samples, not from statistics");
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

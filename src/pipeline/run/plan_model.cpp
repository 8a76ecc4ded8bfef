// SPDX-License-Identifier: MIT
#include "pipeline/run/plan_model.h"

#include <algorithm>

#include "base/file_system.h"
#include "base/run_files.h"
#include "calib/reader/fit_samples.h"
#include "calib/sample_readers.h"
#include "calib/statistics_set.h"
#include "compare/expected_outputs.h"
#include "config/algorithms.h"
#include "config/named_files.h"
#include "onnx_io/infer.h"
#include "pipeline/run/facts.h"
#include "pipeline/run/plausible_inputs.h"
#include "pipeline/run/use_backend.h"
#include "plan/op_rules.h"
#include "plan/stage.h"

namespace quarkq::pipeline {

namespace {

constexpr pass::Phase kFirstGuarded = pass::Phase::kPrepare;  // after select and convert

/// A guard on the outputs of the converted model, on the first sample. Nothing without samples, in compat mode (whose
/// defects stay), and when the executor cannot run the model, which is reported.
std::optional<pass::OutputGuard> make_guard(RunState& state, const calib::DataReader* samples) {
  if (samples == nullptr || !state.settings.quirk(config::Quirk::kCompareRewrites)) return std::nullopt;
  Result<calib::Sample> sample = samples->read(0);
  if (!sample.ok()) return std::nullopt;  // calibration reports the reason
  Result<pass::OutputGuard> guard = pass::OutputGuard::make(state.model, state.environment, std::move(sample).value());
  if (guard.ok()) return std::move(guard).value();
  state.diagnostics.add("rewrites-not-checked", "",
                        "rewrites of the float model are not checked: " + guard.status().message());
  return std::nullopt;
}

std::unique_ptr<calib::DataReader> fitted(const calib::DataReader* reader, const ir::Model& converted,
                                          const RunState& state) {
  if (reader == nullptr) return nullptr;
  const auto& names = state.channels_last_inputs;
  return calib::fit_samples(*reader, calib::input_specs(converted.graph), {names.begin(), names.end()});
}

}  // namespace

void fit(Samples& samples, const ir::Model& converted, const RunState& state) {
  if (samples.fitted != nullptr) samples.retired.push_back(std::move(samples.fitted));
  samples.fitted = fitted(samples.opened.get(), converted, state);
}

RunnerOptions statistics_options() {
  RunnerOptions options;
  options.skip = {"fit-gates"};
  return options;
}

Result<ir::Model> run_float_phases(RunState& state, Samples& samples, pass::Phase until, std::vector<PassTime>& times,
                                   RunnerOptions options) {
  options.guard = nullptr;
  QQ_RETURN_IF_ERROR(run_passes(state, {.until = kFirstGuarded}, times, options));
  const bool converted = std::any_of(times.begin(), times.end(), [](const PassTime& time) { return time.changed; });
  const calib::DataReader* probe = samples.probe;
  std::unique_ptr<calib::DataReader> fitted_probe;
  if (converted) {
    QQ_RETURN_IF_ERROR(onnx_io::infer_types(state.model, state.diagnostics));
    fit(samples, state.model, state);
    fitted_probe = fitted(probe, state.model, state);
    if (fitted_probe != nullptr) probe = fitted_probe.get();
  }
  state.source.data = samples.get();
  const ir::Model converted_model = state.model;  // shares the weights
  state.tuning.teacher = std::make_shared<const ir::Model>(converted_model);
  if (state.tail != nullptr) state.tuning.tail = {state.tail, &state.tail->model};
  std::optional<pass::OutputGuard> guard = make_guard(state, probe != nullptr ? probe : samples.get());
  options.guard = guard ? &*guard : nullptr;
  QQ_RETURN_IF_ERROR(run_passes(state, {.from = kFirstGuarded, .until = until}, times, options));
  return converted_model;
}

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
      return invalid_argument("--eval: found both a folder and a source in memory, pass only one of them");
    return calib::refuse_empty(calib::open_source(calib::input_specs(job.model.graph), request.eval_samples, 0));
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

Result<Source> open_source(const SourceRequest& request, Job& job, Diagnostics& diagnostics) {
  QQ_RETURN_IF_ERROR(pin_default_batch(job, request.samples, request.calib_folder, diagnostics));
  QQ_RETURN_IF_ERROR(pin_sample_shapes(job, request.samples, request.calib_folder, diagnostics));
  const config::CalibrationBlock& block = job.settings.calibration;
  Source source;
  source.model = request.model;
  QQ_TRY(source.samples.opened, open_samples(request.samples, request.calib_folder, job));
  if (source.samples.opened != nullptr && job.unpinned)
    QQ_RETURN_IF_ERROR(check_cut_rows(*job.unpinned, *source.samples.opened, job.environment));
  QQ_TRY(source.evaluation.opened, open_evaluation(request, job, source.evaluation_folder));
  if (source.samples.opened != nullptr) {
    report_notes(*source.samples.opened, diagnostics);
    source.available = source.samples.opened->size();
    if (request.most_samples > 0 && source.available > request.most_samples) {
      source.samples.opened = std::make_unique<calib::SomeSamples>(
          std::move(source.samples.opened), compare::spread_samples(source.available, request.most_samples));
    }
    auto observed =
        std::make_unique<calib::ObservedReader>(std::move(source.samples.opened), calib::input_specs(job.model.graph));
    source.observed = observed.get();
    source.samples.opened = std::move(observed);
    source.is_random = is_random_data(request.samples, request.calib_folder, job.settings);
    if (!source.is_random) check_plausible(job.model, job.environment, *source.observed, diagnostics);
  }
  const std::string file = !request.statistics_path.empty() ? request.statistics_path : block.stats.value_or("");
  if (file.empty() && source.observed != nullptr) {
    report_backend(job.environment, diagnostics);
    const config::DataType type = job.settings.formats.activation_type;
    const bool measures_ranges = !config::is_half(type) && !config::is_block(type);  // the others only compare
    if (measures_ranges)
      QQ_RETURN_IF_ERROR(check_operators_known(job.model, job.environment).context(request.model.path));
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

Status check_output(const std::string& input, const std::string& output) {
  RunFiles files;
  QQ_RETURN_IF_ERROR(files.add_input(input));
  QQ_RETURN_IF_ERROR(files.add_output(output));
  const size_t separator = platform::last_separator(output);
  if (separator != std::string::npos && !is_folder(output.substr(0, separator + 1))) {
    return io_error(output, ": cannot write here, no such folder");
  }
  return AtomicFile::create(output).status();  // and removed again: a full or read-only folder shows now
}

Status check_samples(const Source& source, const Job& job) {
  const config::Settings& settings = job.settings;
  const bool has_ranges =
      source.size() > 0 || settings.ranges.save_and_restore || settings.algorithms.tensors_range_file;
  const bool selects_all = settings.exclude_selectors.empty() && settings.selection.nodes_to_quantize.empty() &&
                           settings.selection.input_nodes.empty() && settings.selection.output_nodes.empty();
  const bool is_static = settings.inserts_qdq() && !settings.selection.weights_only &&
                         is_integer(plan::element_type(settings.formats.activation_type));
  if (has_ranges || !selects_all || !is_static) return Status();
  std::vector<std::string> types;
  for (const auto& [op, count] : count_ops(job.model.graph)) types.push_back(op);
  const bool has_layers = std::ranges::find(types, "Conv") != types.end() && settings.exclude_op_types.empty() &&
                          plan::op_set(settings, types).contains("Conv");
  if (!has_layers) return Status();
  return bad_data(job.model.path, ": calibration samples are needed: pass --calib DIR, or set UseRandomData=true to ",
                  "try without");
}

Status check_workers(const QuantizeRequest& request, const Job& job) {
  if (request.workers_folder.empty()) return Status();
  if (job.settings.runtime.crypto_mode)
    return invalid_argument("--workers-folder: found together with crypto_mode true, which writes only the result");
  if (!job.settings.algorithms.include_fast_ft)
    return invalid_argument(
        "--workers-folder: these settings do not train any layer; use a preset with AdaRound or AdaQuant, or "
        "include_fast_ft=true");
  QQ_TRY(const config::FinetuneSettings options, config::read_finetune_settings(job.settings));
  return config::check_can_be_shared(options);
}

}  // namespace quarkq::pipeline

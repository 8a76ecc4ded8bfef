// SPDX-License-Identifier: MIT
#include "quarkq/analyze.h"

#include <cmath>

#include "base/platform/memory.h"
#include "base/stopwatch.h"
#include "calib/run_calibration.h"
#include "calib/statistics_set.h"
#include "compare/expected_outputs.h"
#include "exec/environment.h"
#include "pass/context.h"
#include "pipeline/run/facts.h"
#include "pipeline/run/job.h"
#include "pipeline/run/plan_model.h"
#include "pipeline/run/plausible_inputs.h"
#include "pipeline/run/use_backend.h"
#include "pipeline/verbs/forecast.h"
#include "planning/calibrate/measured_ranges.h"

namespace quarkq {
namespace {

Status check_mergeable(const config::Settings& settings) {
  if (!settings.quirk(config::Quirk::kMergeableStatistics)) {
    return invalid_argument(
        "--compat: the reference's histograms depend on the order of the samples, so they cannot be built in parts; "
        "calibrate in one run of quarkq quantize, or without --compat");
  }
  return pass::asked_calibrator(settings).status();
}

std::vector<size_t> shard_samples(Shard shard, size_t count) {
  std::vector<size_t> numbers;
  for (size_t n = shard.index % shard.count; n < count; n += shard.count) numbers.push_back(n);
  return numbers;
}

/// All methods come from one file, so it always has bins.
Result<calib::StatisticsSet> collect_statistics(pipeline::RunState& state, const std::vector<size_t>& numbers) {
  const pass::PlanContext context = state.plan_context();
  const std::vector<ir::ValueId> tensors = planning::tensors_to_measure(context, planning::find_range_sources(context));
  calib::SampleRunOptions options =
      pass::sample_run_options(context.environment, context.settings, tensors, context.progress);
  options.samples = numbers;
  calib::CollectOptions collect = pass::collect_options(context.settings);
  collect.with_bins = true;
  calib::SampleRun run(context.model, *context.source.data, context.environment, std::move(options));
  QQ_TRY(calib::Statistics statistics, calib::collect_statistics(run, tensors, collect));
  calib::StatisticsSet set;
  set.samples = run.sample_names();
  for (auto& [tensor, seen] : statistics) {
    const std::string& name = context.graph().value(tensor).name;
    calib::report_non_finite(name, seen, set.samples, context.diagnostics);
    set.tensors.emplace(name, std::move(seen));
  }
  return set;
}

Result<CalibrateReport> write_set(const calib::StatisticsSet& set, const std::string& path) {
  QQ_RETURN_IF_ERROR(calib::save_statistics(path, set));
  CalibrateReport report;
  report.output_path = path;
  report.tensors = set.tensors.size();
  report.samples = set.samples.size();
  report.total_samples = set.origin.samples;
  for (const auto& [name, seen] : set.tensors) report.values += seen.count() + seen.not_finite();
  report.bytes = pipeline::file_size(path);
  return report;
}

/// What calibrate() and its forecast begin with.
struct Prepared {
  pipeline::Job job;
  pipeline::Samples samples;
  std::vector<size_t> numbers;  ///< of the shard's samples
};

Result<Prepared> prepare(const CalibrateRequest& request, const pipeline::ModelFile& file, Diagnostics& diagnostics) {
  const auto environment = exec::Environment::begin(request.threads, request.memory_ceiling);
  QQ_TRY(pipeline::Job job, pipeline::open_job(file, {request.config, request.settings}, environment, diagnostics));
  QQ_RETURN_IF_ERROR(pipeline::check_is_float(request.model_path, job, diagnostics));
  QQ_RETURN_IF_ERROR(check_mergeable(job.settings));
  QQ_RETURN_IF_ERROR(pipeline::pin_default_batch(job, request.sample_source, request.calib_folder, diagnostics));
  QQ_RETURN_IF_ERROR(pipeline::pin_sample_shapes(job, request.sample_source, request.calib_folder, diagnostics));
  pipeline::Samples samples;
  QQ_TRY(samples.opened, pipeline::open_samples(request.sample_source, request.calib_folder, job));
  if (samples.opened == nullptr) return bad_data("calibration samples are needed: pass --calib DIR");
  QQ_RETURN_IF_ERROR(pipeline::check_operators_known(job.model, job.environment).context(request.model_path));
  pipeline::report_notes(*samples.opened, diagnostics);
  auto observed =
      std::make_unique<calib::ObservedReader>(std::move(samples.opened), calib::input_specs(job.model.graph));
  if (!pipeline::is_random_data(request.sample_source, request.calib_folder, job.settings))
    pipeline::check_plausible(job.model, job.environment, *observed, diagnostics);
  samples.opened = std::move(observed);
  pipeline::report_backend(job.environment, diagnostics);
  std::vector<size_t> numbers = shard_samples(request.shard, samples.opened->size());
  if (numbers.empty()) {
    return bad_data("shard ", request.shard.index, "/", request.shard.count,
                    ": has no sample, the number of samples is ", samples.opened->size());
  }
  return Prepared{std::move(job), std::move(samples), std::move(numbers)};
}

/// The statistics of the samples `numbers`, with where they come from. `seen` receives the samples that are done.
Result<calib::StatisticsSet> run_calibrate(const CalibrateRequest& request, const pipeline::ModelFile& file,
                                           Prepared& prepared, pipeline::RunState& state,
                                           const std::function<void(size_t)>& seen) {
  constexpr pass::Phase kCalibrate = pass::Phase::kCalibrate;
  state.progress = [&](size_t done, size_t total) {
    seen(done);
    return !request.progress || request.progress({pass::name(kCalibrate), done, total});
  };
  std::vector<PassTime> times;
  Result<ir::Model> original =
      pipeline::run_float_phases(state, prepared.samples, kCalibrate, times, pipeline::statistics_options());
  if (!original.ok()) return std::move(original).status().context(request.model_path);
  QQ_TRY(calib::StatisticsSet set, collect_statistics(state, prepared.numbers));
  QQ_TRY(set.origin, pipeline::statistics_origin(file, original.value(), state.model, state.settings,
                                                 prepared.samples.opened->size()));
  return set;
}

/// Bytes of the statistics of `samples`: they grow by a power of the number of samples, which those of half of the
/// samples tried show.
uint64_t forecast_bytes(size_t half_bytes, size_t bytes, double samples_over_tried) {
  const double power = std::log2(static_cast<double>(bytes) / static_cast<double>(half_bytes));
  return static_cast<uint64_t>(static_cast<double>(bytes) * std::pow(samples_over_tried, power));
}

/// Those of every second sample.
std::vector<size_t> half_of(const std::vector<size_t>& numbers) {
  std::vector<size_t> half;
  for (size_t i = 0; i < numbers.size(); i += 2) half.push_back(numbers[i]);
  return half;
}

Result<CalibrateReport> calibrate(const CalibrateRequest& request, pipeline::RunState& state) {
  const Stopwatch watch;
  const pipeline::ModelFile file = pipeline::ModelFile::of(request);
  QQ_TRY(Prepared prepared, prepare(request, file, state.diagnostics));
  pipeline::begin(state, prepared.job);
  QQ_TRY(const calib::StatisticsSet set, run_calibrate(request, file, prepared, state, [](size_t) {}));
  QQ_TRY(CalibrateReport report, write_set(set, request.output_path));
  report.findings = pipeline::findings_of(state.diagnostics);
  report.seconds = watch.seconds();
  return report;
}

}  // namespace

Result<CalibrateReport> calibrate(const CalibrateRequest& request) {
  pipeline::RunState state;
  Result<CalibrateReport> report = calibrate(request, state);
  if (!report.ok() && request.on_failure) request.on_failure(pipeline::findings_of(state.diagnostics));
  return report;
}

Result<Forecast> forecast(const CalibrateRequest& request) {
  const Stopwatch watch;
  pipeline::RunState state;
  QQ_RETURN_IF_ERROR(pipeline::check_output(request.model_path, request.output_path));
  const pipeline::ModelFile file = pipeline::ModelFile::of(request);
  QQ_TRY(Prepared prepared, prepare(request, file, state.diagnostics));
  Forecast forecast;
  forecast.model_path = request.model_path;
  forecast.output_path = request.output_path;
  forecast.preset = prepared.job.settings.preset;
  forecast.quantizer = config::quantizer_name(prepared.job.settings.quantizer);
  forecast.model_bytes = prepared.job.bytes;
  forecast.samples = prepared.numbers.size();
  std::vector<size_t> tried;
  for (const size_t i : compare::spread_samples(forecast.samples, pipeline::kTriedSamples))
    tried.push_back(prepared.numbers[i]);
  prepared.numbers = std::move(tried);
  forecast.tried_samples = prepared.numbers.size();
  pipeline::begin(state, prepared.job);
  pipeline::SampleClock clock;
  QQ_TRY(const calib::StatisticsSet set,
         run_calibrate(request, file, prepared, state, [&](size_t done) { clock.saw(done); }));
  pipeline::describe_plan(state, prepared.job.model.graph, state.graph(), forecast);
  const double other_samples = static_cast<double>(forecast.samples - forecast.tried_samples);
  forecast.seconds = watch.seconds() + clock.seconds_per_sample() * other_samples;
  forecast.output_bytes = calib::encode_statistics(set).size();
  if (other_samples > 0) {
    state.progress = nullptr;
    QQ_TRY(calib::StatisticsSet half, collect_statistics(state, half_of(prepared.numbers)));
    half.origin = set.origin;
    forecast.output_bytes =
        forecast_bytes(calib::encode_statistics(half).size(), forecast.output_bytes,
                       static_cast<double>(forecast.samples) / static_cast<double>(forecast.tried_samples));
  }
  forecast.findings = pipeline::findings_of(state.diagnostics);
  forecast.memory_bytes = platform::peak_memory();
  forecast.tried_seconds = watch.seconds();
  return forecast;
}

Result<CalibrateReport> merge_statistics(const MergeRequest& request) {
  const Stopwatch watch;
  if (request.parts.empty()) return invalid_argument("merge: found no parts, at least one is needed");
  QQ_TRY(calib::StatisticsSet all, calib::load_statistics(request.parts[0]));
  for (size_t i = 1; i < request.parts.size(); ++i) {
    QQ_TRY(calib::StatisticsSet part, calib::load_statistics(request.parts[i]));
    QQ_RETURN_IF_ERROR(calib::merge_statistics(all, std::move(part), request.parts[i], request.allow_other_isa));
  }
  QQ_TRY(CalibrateReport report, write_set(all, request.output_path));
  report.seconds = watch.seconds();
  return report;
}

}  // namespace quarkq

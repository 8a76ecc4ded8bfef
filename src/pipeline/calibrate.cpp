// SPDX-License-Identifier: MIT
#include "quarkq/calibrate.h"

#include "base/stopwatch.h"
#include "calib/run_calibration.h"
#include "calib/statistics_file.h"
#include "exec/threads.h"
#include "pass/calibration_options.h"
#include "pipeline/facts.h"
#include "pipeline/float_phases.h"
#include "pipeline/job.h"
#include "planning/calibrate/measured_tensors.h"

namespace quarkq {
namespace {

Status check_mergeable(const config::Settings& settings) {
  if (settings.compat) {
    return invalid_argument(
        "--compat: the reference's histograms depend on the order of the samples, there are no statistics of parts; "
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
  calib::SampleRunOptions options = pass::sample_run_options(context.settings, tensors, context.progress);
  options.samples = numbers;
  calib::CollectOptions collect = pass::collect_options(context.settings);
  collect.with_bins = true;
  calib::SampleRun run(context.model, *context.source.data, std::move(options));
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

}  // namespace

Result<CalibrateReport> calibrate(const CalibrateRequest& request) {
  const Stopwatch watch;
  exec::set_threads(request.threads);
  Diagnostics diagnostics;
  const pipeline::ModelFile file(request.model_path, request.model_bytes);
  QQ_TRY(pipeline::Job job, pipeline::open_job(file, request.config, request.settings, diagnostics));
  QQ_RETURN_IF_ERROR(pipeline::check_is_float(request.model_path, job, diagnostics));
  QQ_RETURN_IF_ERROR(check_mergeable(job.settings));
  pipeline::Samples samples;
  QQ_TRY(samples.opened, pipeline::open_samples(request.sample_source, request.calib_folder, job));
  if (samples.opened == nullptr) return bad_data("calibration samples are needed: give --calib DIR");
  const std::vector<size_t> numbers = shard_samples(request.shard, samples.opened->size());
  if (numbers.empty()) {
    return bad_data("shard ", request.shard.index, "/", request.shard.count, ": has no sample, the data have ",
                    samples.opened->size());
  }
  constexpr pass::Phase kCalibrate = pass::Phase::kCalibrate;
  pipeline::RunState state{.model = job.model, .settings = job.settings, .diagnostics = diagnostics};
  if (request.progress) {
    state.progress = [&](size_t done, size_t total) { return request.progress({pass::name(kCalibrate), done, total}); };
  }
  std::vector<PassTime> times;
  Result<ir::Model> original = pipeline::run_float_phases(state, samples, kCalibrate, times, {});
  if (!original.ok()) return std::move(original).status().context(request.model_path);
  QQ_TRY(calib::StatisticsSet set, collect_statistics(state, numbers));
  QQ_TRY(set.origin,
         pipeline::statistics_origin(file, original.value(), job.model, job.settings, samples.opened->size()));
  QQ_TRY(CalibrateReport report, write_set(set, request.output_path));
  report.findings = pipeline::findings_of(diagnostics);
  report.seconds = watch.seconds();
  return report;
}

Result<CalibrateReport> merge_statistics(const MergeRequest& request) {
  const Stopwatch watch;
  if (request.parts.empty()) return invalid_argument("merge: found no parts, one is needed at least");
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

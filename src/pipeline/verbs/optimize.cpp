// SPDX-License-Identifier: MIT
#include "quarkq/convert.h"

#include <algorithm>

#include "base/stopwatch.h"
#include "base/strings.h"
#include "config/quant_config.h"
#include "exec/environment.h"
#include "ir/dump.h"
#include "onnx_io/check_model.h"
#include "onnx_io/infer.h"
#include "onnx_io/save.h"
#include "pipeline/run/facts.h"
#include "pipeline/run/job.h"
#include "pipeline/run/plan_model.h"

namespace quarkq {
namespace {

constexpr pass::Phase kFirstOther = pass::Phase::kMark;  // after those that rewrite the float model

/// Names of passes that rewrite the float model; the others need a plan.
Status check_names(const std::vector<std::string>& names, const std::string& option) {
  std::vector<std::string> known;
  for (const pass::PassInfo& pass : pipeline::all_passes()) {
    if (pass.phase == kFirstOther) break;
    known.emplace_back(pass.name);
  }
  for (const std::string& name : names) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    return invalid_argument(option, ": found ", name, ", which is not a pass on the float model",
                            did_you_mean(name, known), " (quarkq list passes)");
  }
  return Status();
}

}  // namespace

Result<OptimizeReport> optimize(const OptimizeRequest& request) {
  const Stopwatch watch;
  const auto environment = exec::Environment::begin(request.threads, request.memory_ceiling);
  QQ_RETURN_IF_ERROR(check_names(request.only, "--pass"));
  QQ_RETURN_IF_ERROR(check_names(request.skip, "--skip"));
  if (!request.dump_after.empty()) QQ_RETURN_IF_ERROR(check_names({request.dump_after}, "--dump-after"));
  pipeline::RunState state;
  std::vector<std::string> settings = request.settings;
  if (!config::selects_mode(request.config, settings)) settings.emplace_back("quant_config={}");
  QQ_TRY(pipeline::Job job,
         pipeline::open_job(request.model_path, {request.config, settings}, environment, state.diagnostics));
  QQ_RETURN_IF_ERROR(pipeline::pin_default_batch(job, {}, request.calib_folder, state.diagnostics));
  pipeline::Samples samples;
  QQ_TRY(samples.opened, pipeline::open_samples(request.calib_folder, job.settings, job.model.graph));
  if (samples.opened != nullptr) {
    QQ_RETURN_IF_ERROR(samples.opened->read(0).status());  // no later step reports it
    pipeline::report_notes(*samples.opened, state.diagnostics);
  }
  // Without samples a random one will do for the guard: only the outputs before and after are compared.
  const auto random = calib::make_random_reader(calib::input_specs(job.model.graph), {});
  const bool use_random = samples.opened == nullptr && random.ok();
  pipeline::begin(state, job);
  OptimizeReport report;
  report.model_path = request.model_path;
  report.output_path = request.output_path;
  report.nodes_before = job.model.graph.order().size();
  pipeline::RunnerOptions options;
  options.only = {request.only.begin(), request.only.end()};
  options.skip = {request.skip.begin(), request.skip.end()};
  if (!options.only.empty()) options.only.insert("select-nodes");  // rewrites depend on the selection
  options.after = [&](const pass::PassInfo& pass, const ir::Model& model) {
    if (request.dump_after == pass.name) report.dump = ir::dump(model);
  };
  if (use_random) samples.probe = random.value().get();
  QQ_RETURN_IF_ERROR(pipeline::run_float_phases(state, samples, kFirstOther, report.passes, options)
                         .status()
                         .context(request.model_path));
  QQ_RETURN_IF_ERROR(onnx_io::infer_types(state.model, state.diagnostics));
  QQ_RETURN_IF_ERROR(onnx_io::check_result(state.model, state.diagnostics)
                         .context("the optimized model did not pass its check")
                         .context(request.model_path));
  QQ_TRY(report.tail_path, pipeline::save_tail(job.tail, request.output_path));
  if (job.tail != nullptr) pipeline::mark_body(state.model, *job.tail);
  QQ_TRY(const onnx_io::SaveReport saved, onnx_io::save(state.model, request.output_path));
  report.bytes = saved.model_bytes + saved.data_bytes;
  report.nodes_after = state.graph().order().size();
  report.findings = pipeline::findings_of(state.diagnostics);
  report.seconds = watch.seconds();
  return report;
}

}  // namespace quarkq

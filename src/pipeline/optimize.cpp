// SPDX-License-Identifier: MIT
#include "quarkq/optimize.h"

#include <algorithm>

#include "base/stopwatch.h"
#include "base/suggest.h"
#include "exec/threads.h"
#include "ir/dump.h"
#include "onnx_io/check_model.h"
#include "onnx_io/infer.h"
#include "onnx_io/save.h"
#include "pipeline/facts.h"
#include "pipeline/job.h"
#include "pipeline/runner.h"

namespace quarkq {
namespace {

constexpr const char* kFirstOther = "assign";  // the phase behind those that rewrite the float model

/// Names of passes that rewrite the float model; the others need a plan.
Status check_names(const std::vector<std::string>& names, const std::string& option) {
  std::vector<std::string> known;
  for (const passes::PassInfo& pass : passes::all_passes()) {
    if (std::string_view(pass.phase) == kFirstOther) break;
    known.emplace_back(pass.name);
  }
  for (const std::string& name : names) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    return invalid_argument(option, ": found ", name, ", which is no pass on the float model",
                            did_you_mean(name, known), " (quarkq list passes)");
  }
  return Status();
}

/// Without samples one random one will do: only the outputs before and after are compared.
Result<std::unique_ptr<calib::DataReader>> guard_samples(const OptimizeRequest& request, const pipeline::Job& job) {
  QQ_TRY(auto samples, pipeline::open_samples(request.calib_folder, job.settings, job.model.graph));
  if (samples != nullptr) return samples;
  return calib::make_random_reader(calib::input_specs(job.model.graph), {});
}

}  // namespace

Result<OptimizeReport> optimize(const OptimizeRequest& request) {
  const Stopwatch watch;
  exec::set_threads(request.threads);
  QQ_RETURN_IF_ERROR(check_names(request.only, "--pass"));
  QQ_RETURN_IF_ERROR(check_names(request.skip, "--skip"));
  if (!request.dump_after.empty()) QQ_RETURN_IF_ERROR(check_names({request.dump_after}, "--dump-after"));
  Diagnostics diagnostics;
  QQ_TRY(pipeline::Job job, pipeline::open_job(request.model_path, request.config, request.settings, diagnostics));
  Result<std::unique_ptr<calib::DataReader>> samples = guard_samples(request, job);
  if (!samples.ok() && !request.calib_folder.empty()) return samples.status();
  std::optional<pipeline::OutputGuard> guard =
      pipeline::make_guard(job, samples.ok() ? samples.value().get() : nullptr, diagnostics);
  passes::PassContext context{.model = job.model, .settings = job.settings, .diagnostics = diagnostics};
  OptimizeReport report;
  report.model_path = request.model_path;
  report.output_path = request.output_path;
  report.nodes_before = job.model.graph.order().size();
  pipeline::RunnerOptions options;
  options.only = {request.only.begin(), request.only.end()};
  options.skip = {request.skip.begin(), request.skip.end()};
  if (!options.only.empty()) options.only.insert("select-nodes");  // who is selected decides what is rewritten
  options.guard = guard ? &*guard : nullptr;
  options.after = [&](const passes::PassInfo& pass, const ir::Model& model) {
    if (request.dump_after == pass.name) report.dump = ir::dump(model);
  };
  QQ_RETURN_IF_ERROR(pipeline::run_passes(context, {.from = nullptr, .until = kFirstOther}, report.passes, options)
                         .context(request.model_path));
  QQ_RETURN_IF_ERROR(onnx_io::infer_types(job.model, diagnostics));
  QQ_RETURN_IF_ERROR(onnx_io::check_model(job.model).context("the optimized model did not pass its check"));
  QQ_TRY(const onnx_io::SaveReport saved, onnx_io::save(job.model, request.output_path));
  report.bytes = saved.model_bytes + saved.data_bytes;
  report.nodes_after = job.model.graph.order().size();
  report.findings = pipeline::findings_of(diagnostics);
  report.seconds = watch.seconds();
  return report;
}

}  // namespace quarkq

// SPDX-License-Identifier: MIT
#include "quarkq/quantize.h"

#include <omp.h>

#include <filesystem>
#include <memory>
#include <optional>

#include "base/file_system.h"
#include "base/isa.h"
#include "base/stopwatch.h"
#include "exec/threads.h"
#include "onnx_io/check_model.h"
#include "onnx_io/save.h"
#include "passes/finetune/saved_layers.h"
#include "pipeline/details.h"
#include "pipeline/facts.h"
#include "pipeline/plan_model.h"
#include "pipeline/verify.h"
#include "plan/flavors.h"

namespace quarkq {
namespace {

/// Below this users call a result broken; 16 bits are taken for their accuracy. quarkq.min_cosine is stronger.
double collapsed_cosine(const config::Settings& settings) {
  constexpr double kCollapsed = 0.9, kCollapsedWide = 0.98;
  return settings.tool.min_cosine.value_or(bits(plan::element_type(settings.activation_type)) == 16 ? kCollapsedWide
                                                                                                    : kCollapsed);
}

Status check_output(const std::string& input, const std::string& output) {
  QQ_RETURN_IF_ERROR(check_not_input(output, {input}));
  std::error_code error;
  const auto folder = std::filesystem::path(output).parent_path();
  if (!folder.empty() && !std::filesystem::is_directory(folder, error)) {
    return io_error(output, ": cannot write here, no such folder");
  }
  return Status();
}

Status save_result(const ir::Model& model, const config::Settings& settings, QuantizeReport& report) {
  onnx_io::SaveOptions options;
  options.external_data = settings.use_external_data_format;
  QQ_TRY(const onnx_io::SaveReport saved, onnx_io::save(model, report.output_path, options));
  report.external_data = saved.external_data;
  report.output_bytes = saved.model_bytes + saved.data_bytes;
  report.output_opset = model.opset();
  report.quantized_ops = pipeline::count_ops(model.graph);
  return Status();
}

/// Returns the float models that the result stands for.
Result<pipeline::FloatModels> run_pipeline(const QuantizeRequest& request, pipeline::Source& source,
                                           passes::PassContext& context, QuantizeReport& report) {
  constexpr const char* kInsert = "insert";
  pipeline::RunnerOptions options;
  std::string phase;
  if (request.progress) {
    options.phase = [&](const std::string& name) {
      phase = name;
      return request.progress({name, 0, 0});
    };
    context.progress = [&](size_t done, size_t total) { return request.progress({phase, done, total}); };
  }
  QQ_TRY(pipeline::FloatModels floats, pipeline::plan_model(source, context, kInsert, report.phases, options));
  const ir::Model restructured = context.model;  // shares the weights
  context.float_model = &restructured;
  QQ_RETURN_IF_ERROR(pipeline::run_passes(context, {.from = kInsert, .until = nullptr}, report.phases, options));
  context.float_model = nullptr;
  context.progress = nullptr;
  return floats;
}

/// Samples of --eval, all of the folder. Null when it was not given.
Result<std::unique_ptr<calib::DataReader>> open_evaluation(const QuantizeRequest& request, const pipeline::Job& job) {
  if (request.eval_folder.empty()) return std::unique_ptr<calib::DataReader>();
  QQ_TRY(calib::DataOptions options, pipeline::data_options(job.settings));
  options.folder = request.eval_folder;
  return calib::open_data(options, calib::input_specs(job.model.graph));
}

/// What the result is judged on: the samples of --eval when there are some, else those of the calibration.
Result<pipeline::Judgement> make_judgement(const QuantizeRequest& request, const config::Settings& settings,
                                           const pipeline::Source& source) {
  pipeline::Judgement judgement;
  judgement.data = source.evaluation.opened != nullptr ? source.evaluation.get() : source.samples.get();
  judgement.collapse = collapsed_cosine(settings);
  if (settings.tool.verify_samples) judgement.samples = static_cast<size_t>(*settings.tool.verify_samples);
  QQ_TRY(judgement.required, pipeline::required_cosine(request.requirements));
  return judgement;
}

/// The written model against what it came from, and against the checker.
Status verify(const QuantizeRequest& request, pipeline::Source& source, const pipeline::FloatModels& floats,
              const passes::PassContext& context, QuantizeReport& report) {
  const Stopwatch watch;
  QQ_RETURN_IF_ERROR(
      onnx_io::check_model(context.model).context(report.model_path + ": the quantized model did not pass its check"));
  pipeline::fit(source.evaluation, floats.original, context);
  QQ_TRY(const pipeline::Judgement judgement, make_judgement(request, context.settings, source));
  QQ_RETURN_IF_ERROR(pipeline::verify_result(floats, context.model, judgement, context.diagnostics, report));
  if (report.compared_samples > 0) report.compared_folder = request.eval_folder;
  report.phases.push_back({"verify", watch.seconds(), false});
  return Status();
}

Status check_request(const QuantizeRequest& request) {
  QQ_TRY(const std::optional<double> required, pipeline::required_cosine(request.requirements));
  if (request.verify) return Status();
  if (required) return invalid_argument("--require: is measured by what --no-verify switches off");
  if (!request.eval_folder.empty()) return invalid_argument("--eval: is read by what --no-verify switches off");
  return Status();
}

void describe(const pipeline::Job& job, const QuantizeRequest& request, QuantizeReport& report) {
  report.preset = job.settings.preset;
  report.quantizer = config::quantizer_name(job.settings.quantizer);
  report.input_opset = job.model.opset();
  report.float_ops = pipeline::count_ops(job.model.graph);
  report.model_bytes = pipeline::file_size(request.model_path);
  report.nodes_total = job.model.graph.order().size();
}

}  // namespace

std::string default_output_path(const std::string& model_path) {
  const std::filesystem::path path(model_path);
  return (path.parent_path() / (path.stem().string() + "_quantized.onnx")).string();
}

Result<QuantizeReport> quantize(const QuantizeRequest& request) {
  const Stopwatch watch;
  exec::set_threads(request.threads);
  QuantizeReport report;
  report.model_path = request.model_path;
  report.output_path = request.output_path.empty() ? default_output_path(request.model_path) : request.output_path;
  report.isa = isa_name(isa());
  report.threads = omp_get_max_threads();
  Diagnostics diagnostics;
  QQ_RETURN_IF_ERROR(check_output(request.model_path, report.output_path));
  QQ_RETURN_IF_ERROR(check_request(request));
  QQ_TRY(pipeline::Job job, pipeline::open_job(request.model_path, request.config, request.settings, diagnostics));
  QQ_RETURN_IF_ERROR(pipeline::check_is_float(request.model_path, job, diagnostics));
  describe(job, request, report);
  const ir::Model loaded = job.model;  // shares the weights
  QQ_TRY(pipeline::Source source,
         pipeline::open_source(request.model_path, request.calib_folder, request.statistics_path, job));
  QQ_TRY(source.evaluation.opened, open_evaluation(request, job));
  passes::PassContext context{.model = job.model, .settings = job.settings, .diagnostics = diagnostics};
  if (request.resume) context.finetune_state = report.output_path + ".finetune";
  report.samples = source.size();
  Result<pipeline::FloatModels> floats = run_pipeline(request, source, context, report);
  if (!floats.ok()) return std::move(floats).status().context(request.model_path);
  report.nothing_to_quantize = !pipeline::has_changed(report.phases, "insert");
  if (report.nothing_to_quantize) {
    diagnostics.warn("nothing-to-quantize", request.model_path,
                     "no selected node has a float tensor, the float model was copied");
    job.model = loaded;
  }
  pipeline::count_tensors(context.plan, report);
  report.nodes_quantized = pipeline::count_quantized(context, floats.value().calibrated.graph);
  if (request.details) report.details.emplace();
  if (request.verify && !report.nothing_to_quantize)
    QQ_RETURN_IF_ERROR(verify(request, source, floats.value(), context, report));
  if (request.details) pipeline::add_details(context, floats.value().calibrated, source.samples.get(), report);
  for (const passes::FinetunedLayer& layer : context.finetuned)
    report.tuned_layers.push_back(
        {layer.node, layer.algorithm, layer.error_before, layer.error_after, layer.kept, layer.resumed, layer.seconds});
  if (const auto& outputs = context.finetuned_outputs)
    report.tuned_outputs = {outputs->samples, outputs->cosine_before, outputs->cosine_after};
  QQ_RETURN_IF_ERROR(save_result(job.model, job.settings, report));
  passes::finetune::SavedLayers(context.finetune_state).remove(context.finetuned.size());
  report.findings = pipeline::findings_of(diagnostics);
  report.seconds = watch.seconds();
  return report;
}

}  // namespace quarkq

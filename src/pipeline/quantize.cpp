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
#include "pipeline/details.h"
#include "pipeline/facts.h"
#include "pipeline/plan_model.h"
#include "pipeline/rescue.h"
#include "pipeline/verify.h"
#include "plan/data_types.h"
#include "planning/tune/saved_layers.h"

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

/// Into the file, or into the report.
Status save_result(const ir::Model& model, const config::Settings& settings, bool in_memory, QuantizeReport& report) {
  onnx_io::SaveOptions options;
  options.external_data = settings.use_external_data_format;
  if (in_memory) {
    QQ_TRY(const onnx_io::SaveReport planned, onnx_io::plan_save(model, report.output_path, options));
    if (planned.external_data)
      return resource_error(report.model_path, ": the result needs a file for its weights; give an output path");
    report.model = onnx_io::to_bytes(model);
    report.output_bytes = report.model.size();
  } else {
    QQ_TRY(const onnx_io::SaveReport saved, onnx_io::save(model, report.output_path, options));
    report.external_data = saved.external_data;
    report.output_bytes = saved.model_bytes + saved.data_bytes;
  }
  report.output_opset = model.opset();
  report.quantized_ops = pipeline::count_ops(model.graph);
  return Status();
}

/// What a run has of its own beside its state.
struct Run {
  const QuantizeRequest& request;
  pipeline::Source& source;
  pipeline::RunState& state;
  QuantizeReport& report;
  ir::Graph loaded = {};         ///< whose node names settings take
  Diagnostics before_plan = {};  ///< what was found before phase mark: a second plan finds the rest again
  std::string phase = {};

  pipeline::RunnerOptions options() {
    pipeline::RunnerOptions options;
    options.phase = [this](const std::string& name) {
      phase = name;
      if (name == pass::name(pass::Phase::kMark)) before_plan = state.diagnostics;
      return !request.progress || request.progress({name, 0, 0});
    };
    return options;
  }

  pass::Progress progress() {
    if (!request.progress) return nullptr;
    return [this](size_t done, size_t total) { return request.progress({phase, done, total}); };
  }
};

/// Returns the float model whose function the result has.
Result<ir::Model> run_pipeline(Run& run) {
  const pipeline::RunnerOptions options = run.options();
  run.state.progress = run.progress();
  QQ_TRY(ir::Model original,
         pipeline::plan_model(run.source, run.state, pass::Phase::kWrite, run.report.phases, options));
  QQ_RETURN_IF_ERROR(pipeline::run_passes(run.state, {.from = pass::Phase::kWrite}, run.report.phases, options));
  run.state.progress = nullptr;
  return original;
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

Status check_written(const Run& run) {
  return onnx_io::check_model(run.state.model)
      .context(run.report.model_path + ": the quantized model did not pass its check");
}

/// Phase mark and all after it once more, on the float model as it was calibrated, with the remedies.
Status plan_again(Run& run, config::Settings& settings, const pipeline::Rescued& rescued) {
  run.state.diagnostics = run.before_plan;
  run.state.model = *run.state.calibrated;
  run.state.plan = {};
  pipeline::apply(rescued.remedies, run.state.graph(), settings, run.state.selection);
  QQ_RETURN_IF_ERROR(pipeline::run_passes(run.state, {.from = pass::Phase::kMark}, run.report.phases, run.options()));
  run.report.rescue = rescued.report;
  run.state.diagnostics.notice("rescued", "", pipeline::rescue_text(rescued.report));
  return check_written(run);
}

/// A collapsed result is planned again with what its target takes at the least cost, when that helps. True: it was.
Result<bool> rescue(Run& run, config::Settings& settings, const ir::Model& original) {
  constexpr size_t kSamples = 4, kFewSamples = 2;  // the result itself is judged on more
  const calib::DataReader* data = run.source.samples.get();
  if (data == nullptr) return false;
  const Stopwatch watch;
  const auto outputs_of = [&](size_t samples) {
    return pipeline::ExpectedOutputs::make(original, *data, pipeline::spread_samples(data->size(), samples));
  };
  QQ_TRY(const pipeline::ExpectedOutputs expected, outputs_of(kSamples));
  QQ_TRY(const pipeline::ExpectedOutputs few, outputs_of(kFewSamples));
  run.phase = "rescue";
  QQ_TRY(const std::optional<pipeline::Rescued> rescued,
         pipeline::find_rescue({run.state, run.loaded, expected, few, run.progress()}));
  run.report.phases.push_back({"rescue", watch.seconds(), rescued.has_value()});
  if (!rescued) return false;
  QQ_RETURN_IF_ERROR(plan_again(run, settings, *rescued));
  return true;
}

/// The written model against what it came from, and against the checker.
Status verify(Run& run, config::Settings& settings, const pipeline::FloatModels& floats) {
  const Stopwatch watch;
  QQ_RETURN_IF_ERROR(check_written(run));
  pipeline::fit(run.source.evaluation, floats.original, run.state);
  QQ_TRY(const pipeline::Judgement judgement, make_judgement(run.request, settings, run.source));
  const std::string on_collapse = settings.tool.on_collapse.value_or("rescue");
  const bool may_rescue = on_collapse == "rescue" && pipeline::may_rescue(settings);
  QQ_RETURN_IF_ERROR(pipeline::verify_result(floats, run.state.model, judgement, run.state.diagnostics, run.report));
  run.report.phases.push_back({"verify", watch.seconds(), false});
  if (may_rescue && pipeline::is_poor(judgement, run.report)) {
    QQ_TRY(const bool is_rescued, rescue(run, settings, floats.original));
    if (is_rescued)
      QQ_RETURN_IF_ERROR(
          pipeline::verify_result(floats, run.state.model, judgement, run.state.diagnostics, run.report));
  }
  if (run.report.compared_samples > 0) run.report.compared_folder = run.request.eval_folder;
  if (on_collapse == "fail") QQ_RETURN_IF_ERROR(pipeline::check_not_collapsed(judgement, run.report));
  return pipeline::check_required(judgement, run.report);
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
  report.model_bytes = request.model_bytes ? request.model_bytes->size() : pipeline::file_size(request.model_path);
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
  if (!request.in_memory) QQ_RETURN_IF_ERROR(check_output(request.model_path, report.output_path));
  QQ_RETURN_IF_ERROR(check_request(request));
  const pipeline::ModelFile file(request.model_path, request.model_bytes);
  QQ_TRY(pipeline::Job job, pipeline::open_job(file, request.config, request.settings, diagnostics));
  QQ_RETURN_IF_ERROR(pipeline::check_is_float(request.model_path, job, diagnostics));
  describe(job, request, report);
  const ir::Model loaded = job.model;  // shares the weights
  QQ_TRY(pipeline::Source source,
         pipeline::open_source({file, request.sample_source, request.calib_folder, request.statistics_path}, job));
  QQ_TRY(source.evaluation.opened, open_evaluation(request, job));
  pipeline::RunState state{.model = job.model, .settings = job.settings, .diagnostics = diagnostics};
  if (request.resume && !request.in_memory) state.tuning.state_folder = report.output_path + ".finetune";
  report.samples = source.size();
  Run run{.request = request, .source = source, .state = state, .report = report, .loaded = loaded.graph};
  Result<ir::Model> original = run_pipeline(run);
  if (!original.ok()) return std::move(original).status().context(request.model_path);
  const pipeline::FloatModels floats{original.value(), state.calibrated ? *state.calibrated : original.value()};
  report.nothing_to_quantize = !pipeline::has_changed(report.phases, pass::Phase::kWrite);
  if (report.nothing_to_quantize) {
    diagnostics.warn("nothing-to-quantize", request.model_path,
                     "no selected node has a float tensor, the float model was copied");
    job.model = loaded;
  }
  if (request.details) report.details.emplace();
  if (request.verify && !report.nothing_to_quantize) QQ_RETURN_IF_ERROR(verify(run, job.settings, floats));
  pipeline::count_tensors(state.plan, report);
  report.nodes_quantized = pipeline::count_quantized(state, floats.calibrated.graph);
  if (request.details) pipeline::add_details(state, floats.calibrated, source.samples.get(), report);
  for (const pass::FinetunedLayer& layer : state.tuning.layers)
    report.tuned_layers.push_back(
        {layer.node, layer.algorithm, layer.error_before, layer.error_after, layer.kept, layer.resumed, layer.seconds});
  if (const auto& outputs = state.tuning.outputs)
    report.tuned_outputs = {outputs->samples, outputs->cosine_before, outputs->cosine_after};
  QQ_RETURN_IF_ERROR(save_result(job.model, job.settings, request.in_memory, report));
  planning::finetune::SavedLayers(state.tuning.state_folder).remove(state.tuning.layers.size());
  report.findings = pipeline::findings_of(diagnostics);
  report.seconds = watch.seconds();
  return report;
}

}  // namespace quarkq

// SPDX-License-Identifier: MIT
#include "quarkq/quantize.h"

#include <algorithm>
#include <memory>
#include <optional>

#include "base/file_system.h"
#include "base/isa.h"
#include "base/paths.h"
#include "base/stopwatch.h"
#include "calib/sample_readers.h"
#include "config/format_settings.h"
#include "exec/environment.h"
#include "ir/graph_analysis.h"
#include "ir/traversal.h"
#include "onnx_io/save.h"
#include "pipeline/report/check_target.h"
#include "pipeline/report/compare_models.h"
#include "pipeline/report/details.h"
#include "pipeline/report/verdict.h"
#include "pipeline/report/verify.h"
#include "pipeline/rescue/apply_rescue.h"
#include "pipeline/rescue/search.h"
#include "pipeline/run/facts.h"
#include "pipeline/run/job.h"
#include "pipeline/run/model_interface.h"
#include "pipeline/run/plan_model.h"
#include "pipeline/run/plausible_inputs.h"
#include "pipeline/run/quantize_run.h"
#include "pipeline/run/write_plan.h"
#include "planning/tune/saved_units.h"

namespace quarkq {
namespace {

/// Into the file, or into the report.
Status save_result(const ir::Model& model, const config::Settings& settings, bool in_memory, QuantizeReport& report) {
  onnx_io::SaveOptions options;
  options.external_data = settings.runtime.use_external_data_format;
  if (in_memory) {
    QQ_TRY(const onnx_io::SaveReport planned, onnx_io::plan_save(model, report.output_path, options));
    if (planned.external_data)
      return resource_error(report.model_path, ": the result needs a file for its weights; pass an output path");
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

/// The tail first, so that no body exists without its tail; the joined model last, because it is a check of both.
Status save_pair(pipeline::Run& run) {
  const pipeline::CutTailPtr& tail = run.tail;
  const QuantizeRequest& request = run.request;
  QuantizeReport& report = run.report;
  if (tail == nullptr) return save_result(run.state.model, run.state.settings, request.in_memory, report);
  report.tail_nodes = tail->nodes;
  pipeline::mark_body(run.state.model, *tail);
  if (request.in_memory) {
    report.tail = onnx_io::to_bytes(tail->model);
  } else {
    QQ_TRY(report.tail_path, pipeline::save_tail(tail, report.output_path));
  }
  QQ_RETURN_IF_ERROR(save_result(run.state.model, run.state.settings, request.in_memory, report));
  if (!request.in_memory && request.joined_path.empty()) return Status();
  QQ_TRY(const ir::Model joined, pipeline::join_tail(run.state.model, *tail));
  if (request.in_memory) {
    report.joined = onnx_io::to_bytes(joined);
    return Status();
  }
  report.joined_path = request.joined_path;
  return onnx_io::save(joined, request.joined_path).status();
}

/// Inputs and outputs are those of the float model, except for the changes that settings request. Passes that a list
/// runs on the result may change them as well.
Status check_interface(const pipeline::Run& run, const ir::Model& original, bool is_copy) {
  const config::Settings& settings = run.state.settings;
  pipeline::report_changed_interface(run.loaded.graph, run.state.model.graph, run.state.diagnostics);
  if (!settings.quirk(config::Quirk::kCheckInterface) || !settings.passes.after.empty()) return Status();
  const ir::Graph& wanted = is_copy ? run.loaded.graph : original.graph;
  return pipeline::check_interface(wanted, run.state.model.graph).context(run.report.model_path);
}

/// Returns the float model whose function the result has.
Result<ir::Model> run_pipeline(pipeline::Run& run) {
  const pipeline::RunnerOptions options = run.options();
  run.state.progress = run.progress();
  const bool looks_first = pipeline::looks_before_tuning(run);
  const pass::Phase planned = looks_first ? pass::Phase::kTune : pass::Phase::kWrite;
  QQ_TRY(ir::Model original, pipeline::plan_model(run.source, run.state, planned, run.report.phases, options));
  if (looks_first) {
    QQ_RETURN_IF_ERROR(pipeline::remedy_before_tuning(run, original));
    const pipeline::PhaseRange rest{.from = pass::Phase::kTune, .until = pass::Phase::kWrite};
    QQ_RETURN_IF_ERROR(pipeline::run_passes(run.state, rest, run.report.phases, options));
  }
  QQ_RETURN_IF_ERROR(pipeline::write_plan(run.state, run.report.phases, options));
  run.state.progress = nullptr;
  return original;
}

/// Fills in the prediction for the target.
Status predict_placement(pipeline::Run& run) {
  pipeline::RunState& state = run.state;
  QuantizeReport& report = run.report;
  QQ_TRY(report.target, pipeline::judge_target(state.model, report.output_path, state.settings, state.diagnostics));
  if (!report.target) return Status();
  report.target_is_default = !state.settings.asks_for_target();
  report.deployable = deployability(*report.target);
  return Status();
}

/// Compares the written model with the float model, and runs the checker.
Status verify(pipeline::Run& run, pipeline::FloatModels& floats) {
  const Stopwatch watch;
  run.phase = "verify";
  if (!run.reports(0, 0)) return Status(Code::kInterrupted, "interrupted");
  QQ_RETURN_IF_ERROR(pipeline::check_written(run));
  pipeline::fit(run.source.evaluation, floats.original, run.state);
  QQ_TRY(const pipeline::Judgement judgement,
         pipeline::make_judgement(run.request, run.state.settings, run.state.environment, run.source,
                                  ir::macs_of(run.loaded.graph)));
  const std::string on_collapse = run.state.settings.tool.on_collapse.value_or("rescue");
  const bool may_rescue = on_collapse == "rescue" && pipeline::may_rescue(run.state.settings);
  pipeline::Expected expected = pipeline::expected_outputs(floats, judgement);
  if (floats.tail != nullptr && expected.status().code() == Code::kUnsupported) {
    run.state.diagnostics.add("tail-not-run", run.report.tail_path, expected.status().message());
    floats.tail = run.state.tail = nullptr;
    expected = pipeline::expected_outputs(floats, judgement);
  }
  const pipeline::VerifyResults results{run.state.diagnostics, run.report};
  QQ_RETURN_IF_ERROR(pipeline::verify_result(floats, expected, run.state.model, judgement, results));
  run.report.phases.push_back({"verify", watch.seconds(), false});
  run.is_poor = pipeline::is_poor(judgement, run.report);
  if (may_rescue && pipeline::may_gain(judgement, run.report, run.state.settings, run.loaded.graph)) {
    QQ_TRY(const bool is_rescued, pipeline::rescue(run, floats.original));
    if (is_rescued) {
      floats.calibrated = *run.state.calibrated;
      QQ_RETURN_IF_ERROR(pipeline::verify_result(floats, expected, run.state.model, judgement, results));
    }
  }
  if (run.report.compared_samples > 0) run.report.compared_folder = run.source.evaluation_folder;
  QQ_RETURN_IF_ERROR(predict_placement(run));
  run.report.verdict = pipeline::judge(run.report, run.request, run.state.settings, judgement.collapse);
  if (on_collapse == "fail") QQ_RETURN_IF_ERROR(pipeline::check_not_collapsed(judgement, run.report));
  QQ_RETURN_IF_ERROR(pipeline::check_required(judgement, run.report));
  floats.tail = run.tail;  // the metric of a caller is of the whole network
  return pipeline::judge_by_metric(run.request, floats, run.state.model, judgement, run.report);
}

void describe(const pipeline::Job& job, QuantizeReport& report) {
  report.threads = job.environment.threads.threads;
  report.threads_why = job.environment.threads.why;
  report.preset = job.settings.preset;
  report.quantizer = config::quantizer_name(job.settings.quantizer);
  report.input_opset = job.model.opset();
  report.float_ops = pipeline::count_ops(job.model.graph);
  report.model_bytes = job.bytes;
  report.prints_tables = job.settings.evaluation.print_summary;
}

/// Settings of single tensors that are not written: inside a fused pair, or of nodes that stay float.
Status report_unused_overrides(pipeline::RunState& state, const ir::Graph& calibrated) {
  QQ_TRY(const std::vector<config::NamedOverride> overrides, config::read_tensor_overrides(state.settings));
  for (const config::NamedOverride& own : overrides) {
    const ir::ValueId value = calibrated.find(own.tensor);
    if (!value.valid()) continue;  // of a node, or of the restructured graph
    const plan::QuantSlot* slot = state.plan.find(value);
    if (slot != nullptr && slot->state != plan::SlotState::kAbsorbed) continue;
    state.diagnostics.add("override-no-effect", own.tensor,
                          slot == nullptr ? "is not quantized" : "is inside a fused pair of nodes and is not written");
  }
  return Status();
}

/// A float16 model of which a part stays in float16.
void report_float16(pipeline::RunState& state, const config::ModelFacts& facts, const QuantizeReport& report) {
  const bool is_asked = state.settings.formats.quantize_fp16 && !state.settings.preprocessing.convert_fp16_to_fp32;
  const bool is_whole = report.nodes_quantized == report.nodes_total || state.settings.packs_matrices();
  if (!facts.all_float16 || !is_asked || is_whole) return;  // matrices in few bits leave the rest in any type
  state.diagnostics.add("float16-partly", report.model_path,
                        cat(report.nodes_quantized, " of ", report.nodes_total, " nodes are quantized"));
}

/// What is left of an interrupted run, for the message.
Status interrupted(const pass::Tuning& tuning) {
  const std::string& folder = tuning.shared_folder.empty() ? tuning.state_folder : tuning.shared_folder;
  if (!is_folder(folder)) return Status(Code::kInterrupted, "interrupted");
  return Status(Code::kInterrupted, cat("finished layers are in ", folder, "; the same command resumes there"));
}

/// Where layers are kept once they are trained.
void keep_layers(const QuantizeRequest& request, const std::string& output, const config::Settings& settings,
                 pass::Tuning& tuning) {
  if (settings.runtime.crypto_mode) return;
  tuning.shared_folder = request.workers_folder;
  const bool is_alone = request.workers_folder.empty() && !request.in_memory;
  if (is_alone && request.resume) tuning.state_folder = output + ".finetune";
}

void use_loaded_names(const pipeline::LoadedLabels& labels, QuantizeReport& report) {
  const auto translate = [&](std::string& text) { text = labels.translated(text); };
  for (TensorAgreement& tensor : report.worst_tensors) translate(tensor.node);
  for (TensorAgreement& tensor : report.causes) translate(tensor.node);
  for (TunedLayer& layer : report.tuned_layers) translate(layer.node);
  if (!report.details) return;
  for (TensorAgreement& tensor : report.details->tensors) translate(tensor.node);
}

void report_tuning(const pass::Tuning& tuning, QuantizeReport& report) {
  for (const pass::FinetunedLayer& layer : tuning.layers)
    report.tuned_layers.push_back(
        {layer.node, layer.algorithm, layer.error_before, layer.error_after, layer.kept, layer.resumed, layer.seconds});
  if (const auto& outputs = tuning.outputs)
    report.tuned_outputs = {outputs->samples, outputs->cosine_before, outputs->cosine_after};
}

void report_samples(const pipeline::Source& source, QuantizeReport& report) {
  if (source.observed == nullptr) return;
  const std::vector<calib::InputSummary> inputs = source.observed->summary();
  report.inputs = pipeline::input_reports(inputs);
  const bool has_ranges = report.calibrated_tensors > 0;  // else few samples are as good as many
  report.sample_cautions = pipeline::sample_cautions(inputs, has_ranges ? report.samples : 0, source.is_random);
}

/// The float model after the passes of a list, where the list names a file for it.
Status keep_preprocessed(const pipeline::Job& job, const QuantizeRequest& request) {
  const std::optional<std::string>& path = job.settings.passes.preprocessed_path;
  if (!path || job.settings.passes.before.empty()) return Status();
  QQ_RETURN_IF_ERROR(pipeline::check_output(request.model_path, *path));
  return onnx_io::save(job.model, *path, {.external_data = job.settings.runtime.use_external_data_format}).status();
}

/// The files of a cut model in addition to the result.
Status check_pair_outputs(const QuantizeRequest& request, const pipeline::Job& job) {
  if (job.tail == nullptr || request.in_memory) return Status();
  const std::string output =
      request.output_path.empty() ? default_output_path(request.model_path) : request.output_path;
  const std::string tail = pipeline::tail_path(output);
  QQ_RETURN_IF_ERROR(pipeline::check_output(request.model_path, tail));
  if (request.joined_path.empty()) return Status();
  for (const std::string& other : {output, tail}) {
    if (paths::absolute(request.joined_path) != paths::absolute(other)) continue;
    return invalid_argument("--joined: found ", request.joined_path,
                            ", which this run writes as well; pass another file");
  }
  return pipeline::check_output(request.model_path, request.joined_path);
}

Result<pipeline::Job> open_checked(const QuantizeRequest& request, const pipeline::ModelFile& file,
                                   exec::Environment environment, Diagnostics& diagnostics) {
  QQ_TRY(pipeline::Job job,
         pipeline::open_job(file, {request.config, request.settings}, std::move(environment), diagnostics));
  QQ_RETURN_IF_ERROR(pipeline::check_is_float(request.model_path, job, diagnostics));
  QQ_RETURN_IF_ERROR(pipeline::check_workers(request, job));
  QQ_RETURN_IF_ERROR(check_pair_outputs(request, job));
  QQ_RETURN_IF_ERROR(keep_preprocessed(job, request));
  return job;
}

}  // namespace

std::string default_output_path(const std::string& model_path) {
  return paths::joined(paths::folder_of(model_path), paths::stem_of(model_path) + "_quantized.onnx");
}

namespace {

/// Returns advice for models that compute inside control flow only, and an empty string for others.
std::string inside_bodies(const ir::Graph& graph) {
  const bool has_bodies =
      std::ranges::any_of(graph.order(), [&](ir::NodeId id) { return !ir::nested_graphs(graph.node(id)).empty(); });
  return has_bodies ? "; nodes inside of If, Loop and Scan are quantized with --set EnableSubgraph=true, or export the "
                      "model without them"
                    : "";
}

/// What became of tensors and nodes of the plan that was written.
Status report_plan(pipeline::Run& run, const ir::Model& calibrated) {
  pipeline::RunState& state = run.state;
  QuantizeReport& report = run.report;
  pipeline::count_tensors(state.plan, report);
  pipeline::count_nodes(state, run.loaded.graph, calibrated.graph, report);
  report.calibrated_tensors = state.measured.ranges.size();
  QQ_RETURN_IF_ERROR(report_unused_overrides(state, calibrated.graph));
  report_float16(state, pipeline::model_facts(run.loaded), report);
  if (run.request.details) pipeline::add_details(state, calibrated, run.source.samples.get(), report);
  report_tuning(state.tuning, report);
  return Status();
}

Result<QuantizeReport> quantize(const QuantizeRequest& request, pipeline::RunState& state) {
  const Stopwatch watch;
  QuantizeReport report;
  const auto environment = exec::Environment::begin(request.threads, request.memory_ceiling);
  report.model_path = request.model_path;
  report.output_path = request.output_path.empty() ? default_output_path(request.model_path) : request.output_path;
  report.isa = full_isa_name();
  if (!request.in_memory) QQ_RETURN_IF_ERROR(pipeline::check_output(request.model_path, report.output_path));
  QQ_RETURN_IF_ERROR(pipeline::check_request(request));
  const pipeline::ModelFile file = pipeline::ModelFile::of(request);
  QQ_TRY(pipeline::Job job, open_checked(request, file, environment, state.diagnostics));
  describe(job, report);
  const ir::Model& loaded = job.model;
  QQ_TRY(pipeline::Source source,
         pipeline::open_source(pipeline::source_request(request, file), job, state.diagnostics));
  QQ_RETURN_IF_ERROR(pipeline::check_samples(source, job));
  pipeline::begin(state, job);
  keep_layers(request, report.output_path, job.settings, state.tuning);
  report.samples = source.size();
  pipeline::Run run{
      .request = request, .source = source, .state = state, .report = report, .loaded = loaded, .tail = job.tail};
  Result<ir::Model> original = run_pipeline(run);
  if (!original.ok() && original.status().code() == Code::kInterrupted) return interrupted(state.tuning);
  if (!original.ok()) return std::move(original).status().context(request.model_path);
  pipeline::FloatModels floats{original.value(), state.calibrated ? *state.calibrated : original.value(), state.tail};
  report.nothing_to_quantize = !state.settings.stays_float() && !pipeline::has_written(report.phases);
  if (report.nothing_to_quantize) {
    state.diagnostics.add(
        "nothing-to-quantize", request.model_path,
        cat("no selected node has a float tensor; the float model was copied", inside_bodies(loaded.graph)));
    state.model = loaded;
  }
  if (request.details) report.details.emplace();
  pipeline::LoadedLabels labels;
  labels.add(loaded.graph, floats.calibrated.graph);
  if (request.verify && !report.nothing_to_quantize) {
    const Status status = verify(run, floats);
    if (!status.ok()) return Status(status.code(), labels.translated(status.message()));
  }
  QQ_RETURN_IF_ERROR(pipeline::evaluate_result(run));
  QQ_RETURN_IF_ERROR(report_plan(run, floats.calibrated));
  if (!request.verify || report.nothing_to_quantize) QQ_RETURN_IF_ERROR(predict_placement(run));
  if (std::ranges::find(request.requirements, pipeline::kDeployable) != request.requirements.end())
    QQ_RETURN_IF_ERROR(pipeline::check_deployable(report.deployable));
  if (!report.nothing_to_quantize) pipeline::write_metadata(state, state.model);
  QQ_RETURN_IF_ERROR(check_interface(run, original.value(), report.nothing_to_quantize));
  QQ_RETURN_IF_ERROR(pipeline::save_rescue_settings(run));
  QQ_RETURN_IF_ERROR(save_pair(run));
  planning::finetune::SavedUnits(state.tuning.state_folder).remove(state.tuning.layers.size());
  report_samples(source, report);
  labels.add(loaded.graph, state.graph());
  report.findings = pipeline::findings_of(state.diagnostics, labels);
  use_loaded_names(labels, report);
  report.seconds = watch.seconds();
  return report;
}

}  // namespace

Result<QuantizeReport> quantize(const QuantizeRequest& request) {
  pipeline::RunState state;
  Result<QuantizeReport> report = quantize(request, state);
  if (!report.ok() && request.on_failure) request.on_failure(pipeline::findings_of(state.diagnostics));
  return report;
}

}  // namespace quarkq

// SPDX-License-Identifier: MIT
#include "pipeline/verbs/forecast.h"

#include <algorithm>

#include "base/platform/memory.h"
#include "exec/environment.h"
#include "ir/graph_analysis.h"
#include "onnx_io/save.h"
#include "pipeline/report/check_target.h"
#include "pipeline/report/json.h"
#include "pipeline/report/verify.h"
#include "pipeline/rescue/search.h"
#include "pipeline/run/facts.h"
#include "pipeline/run/plan_model.h"
#include "pipeline/run/write_plan.h"
#include "quarkq/status.h"

namespace quarkq {

namespace pipeline {
namespace {

/// Why a node stays float; by DecisionKind.
std::string reason_text(plan::DecisionKind kind) {
  switch (kind) {
    case plan::DecisionKind::kOperatorNotSelected: return "these settings quantize no such operator";
    case plan::DecisionKind::kNodeExcluded: return "the settings exclude them";
    case plan::DecisionKind::kNodeNotIncluded: return "nodes_to_quantize does not list them";
    case plan::DecisionKind::kNodeLeftFloat: return "a guard left them float";
    default: return "they quantize already";
  }
}

bool computes_floats(const ir::Graph& graph, const ir::Node& node) {
  return std::ranges::any_of(node.outputs, [&](ir::ValueId output) {
    return output.valid() && is_floating(graph.value(output).type.element);
  });
}

/// By the reason; nodes that compute no floats have nothing to quantize.
std::vector<FloatPart> float_parts(const RunState& state, const ir::Graph& loaded, const ir::Graph& calibrated) {
  std::vector<FloatPart> parts;
  for (const ir::NodeId id : calibrated.order()) {
    const ir::Node& node = calibrated.node(id);
    if (!computes_floats(calibrated, node)) continue;
    const auto refusal = state.selection.refusal(node);
    const bool is_other_form = !state.settings.inserts_qdq();
    if (is_other_form ? !state.graph().is_alive(id) : !refusal) continue;
    std::string why = refusal ? reason_text(*refusal) : "this format does not support the operator";
    auto part = std::ranges::find(parts, why, &FloatPart::why);
    if (part == parts.end()) part = parts.insert(parts.end(), {std::move(why), {}, {}});
    ++part->operators[node.op];
    part->nodes.push_back(loaded_label(loaded, calibrated, id));
  }
  return parts;
}

/// Passes that are as long as their settings ask for; a forecast leaves them out.
struct LongPass {
  const char* name;
  const char* text;
  bool (*is_on)(const config::Settings& settings);
};
constexpr LongPass kLongPasses[] = {
    {"quantize-weights-gptq", "GPTQ", [](const config::Settings& s) { return s.algorithms.use_gptq; }},
    {"correct-bias", "bias correction", [](const config::Settings& s) { return s.algorithms.bias_correction; }},
    {"mix-precision", "mixed precision, which also changes formats",
     [](const config::Settings& s) { return s.algorithms.include_auto_mp; }},
    {"finetune-weights", "training of the layers",
     [](const config::Settings& s) { return s.algorithms.include_fast_ft; }},
};

/// Everything of quantize() but what is written.
class DryRun {
 public:
  /// `state`: begun by the job. All must outlive the run.
  DryRun(const QuantizeRequest& request, const Job& job, Source& source, RunState& state)
      : request_(request), job_(job), source_(source), state_(state) {}

  Status run(Forecast& forecast) {
    const ir::Model& loaded = job_.model;
    RunnerOptions options;
    options.phase = [&](const std::string& name) {
      phase_ = name;
      return reports(0, 0);
    };
    for (const LongPass& pass : kLongPasses) {
      if (!pass.is_on(job_.settings)) continue;
      options.skip.insert(pass.name);
      forecast.not_included.emplace_back(pass.text);
    }
    state_.progress = [&](size_t done, size_t total) {
      if (phase_ == pass::name(pass::Phase::kCalibrate)) clock_.saw(done);
      return reports(done, total);
    };
    std::vector<PassTime> times;
    QQ_TRY(ir::Model original, plan_model(source_, state_, pass::Phase::kWrite, times, options));
    QQ_RETURN_IF_ERROR(write_plan(state_, times, options));
    QQ_TRY(const std::optional<TargetReport> target,
           judge_target(state_.model, forecast.output_path, state_.settings, state_.diagnostics));
    if (target) forecast.deployable = deployability(*target);
    const FloatModels floats{original, state_.calibrated ? *state_.calibrated : original};
    const bool is_copy = !has_written(times);
    describe_plan(state_, loaded.graph, floats.calibrated.graph, forecast);
    if (!is_copy && request_.verify) QQ_RETURN_IF_ERROR(compare(floats, forecast));
    onnx_io::SaveOptions save;
    save.external_data = job_.settings.runtime.use_external_data_format;
    QQ_TRY(const onnx_io::SaveReport saved,
           onnx_io::plan_save(is_copy ? loaded : state_.model, forecast.output_path, save));
    forecast.output_bytes = saved.model_bytes + saved.data_bytes;
    return Status();
  }

  double seconds_per_sample() const { return clock_.seconds_per_sample(); }

 private:
  bool reports(size_t done, size_t total) const {
    return !request_.progress || request_.progress(progress_of(phase_, done, total, job_.settings));
  }

  Status compare(const FloatModels& floats, Forecast& forecast) {
    fit(source_.evaluation, floats.original, state_);
    QQ_TRY(Judgement judgement,
           make_judgement(request_, job_.settings, job_.environment, source_, ir::macs_of(job_.model.graph)));
    judgement.required.reset();  // a gate on the result, which is not there
    QuantizeReport found;
    const Expected expected = expected_outputs(floats, judgement);
    QQ_RETURN_IF_ERROR(verify_result(floats, expected, state_.model, judgement, {state_.diagnostics, found}));
    forecast.outputs = found.outputs;
    const bool may_rescue_it =
        job_.settings.tool.on_collapse.value_or("rescue") == "rescue" && may_rescue(job_.settings);
    if (may_rescue_it && may_gain(judgement, found, job_.settings, job_.model.graph))
      forecast.not_included.emplace_back("a rescue, which these outputs would start (--on-collapse)");
    return Status();
  }

  const QuantizeRequest& request_;
  const Job& job_;
  Source& source_;
  RunState& state_;
  std::string phase_;
  SampleClock clock_;
};

}  // namespace

void SampleClock::saw(size_t done) {
  if (done < last_done_) {
    passes_ += pass_seconds();
    last_done_ = 0;
  }
  const double now = watch_.seconds();
  if (done <= kFirst) first_ = now;
  last_ = now;
  last_done_ = done;
}

double SampleClock::pass_seconds() const {
  return last_done_ <= kFirst ? 0 : (last_ - first_) / static_cast<double>(last_done_ - kFirst);
}

double SampleClock::seconds_per_sample() const { return passes_ + pass_seconds(); }

void describe_plan(const RunState& state, const ir::Graph& loaded, const ir::Graph& calibrated, Forecast& forecast) {
  QuantizeReport counted;
  count_tensors(state.plan, counted);
  count_nodes(state, loaded, calibrated, counted);
  forecast.tensors_by_type = counted.tensors_by_type;
  forecast.operators = counted.operators;
  forecast.nodes_quantized = counted.nodes_quantized;
  forecast.nodes_total = counted.nodes_total;
  forecast.nodes_folded = counted.nodes_folded;
  forecast.float_parts = float_parts(state, loaded, calibrated);
}

}  // namespace pipeline

Result<Forecast> forecast(const QuantizeRequest& request) {
  const Stopwatch watch;
  const auto environment = exec::Environment::begin(request.threads, request.memory_ceiling);
  Forecast forecast;
  forecast.model_path = request.model_path;
  forecast.output_path = request.output_path.empty() ? default_output_path(request.model_path) : request.output_path;
  pipeline::RunState state;
  if (!request.in_memory) QQ_RETURN_IF_ERROR(pipeline::check_output(request.model_path, forecast.output_path));
  QQ_RETURN_IF_ERROR(pipeline::check_request(request));
  const pipeline::ModelFile file = pipeline::ModelFile::of(request);
  QQ_TRY(pipeline::Job job,
         pipeline::open_job(file, {request.config, request.settings}, environment, state.diagnostics));
  QQ_RETURN_IF_ERROR(pipeline::check_is_float(request.model_path, job, state.diagnostics));
  forecast.preset = job.settings.preset;
  forecast.quantizer = config::quantizer_name(job.settings.quantizer);
  forecast.model_bytes = job.bytes;
  pipeline::SourceRequest asked = pipeline::source_request(request, file);
  asked.most_samples = pipeline::kTriedSamples;
  QQ_TRY(pipeline::Source source, pipeline::open_source(asked, job, state.diagnostics));
  QQ_RETURN_IF_ERROR(pipeline::check_samples(source, job));
  forecast.tried_samples = source.size();
  forecast.samples = source.statistics ? source.size() : source.available;
  pipeline::begin(state, job);
  pipeline::DryRun dry_run(request, job, source, state);
  QQ_RETURN_IF_ERROR(dry_run.run(forecast).context(request.model_path));
  forecast.findings = pipeline::findings_of(state.diagnostics);
  forecast.memory_bytes = platform::peak_memory();
  forecast.tried_seconds = watch.seconds();
  forecast.seconds = forecast.tried_seconds +
                     dry_run.seconds_per_sample() * static_cast<double>(forecast.samples - forecast.tried_samples);
  return forecast;
}

std::string to_json(const Forecast& forecast) {
  using pipeline::Json;
  Json json = Json::object();
  json["quarkq"] = version();
  json["dry_run"] = true;
  json["model"] = forecast.model_path;
  json["output"] = forecast.output_path;
  json["preset"] = forecast.preset;
  json["quantizer"] = forecast.quantizer;
  json["samples"] = {{"total", forecast.samples}, {"tried", forecast.tried_samples}};
  json["nodes"] = {
      {"total", forecast.nodes_total}, {"selected", forecast.nodes_quantized}, {"folded", forecast.nodes_folded}};
  json["operators"] = pipeline::operators_json(forecast.operators);
  json["tensors"] = forecast.tensors_by_type;
  json["float_parts"] = Json::array();
  for (const FloatPart& part : forecast.float_parts)
    json["float_parts"].push_back({{"why", part.why}, {"operators", part.operators}, {"nodes", part.nodes}});
  json["bytes"] = {{"input", forecast.model_bytes}, {"output", forecast.output_bytes}};
  json["memory_bytes"] = forecast.memory_bytes;
  json["seconds"] = forecast.seconds;
  json["not_included"] = forecast.not_included;
  json["deployable"] = pipeline::deployable_json(forecast.deployable);
  json["outputs"] = Json::array();
  for (const OutputAgreement& output : forecast.outputs) {
    json["outputs"].push_back({{"name", output.name},
                               {"cosine", pipeline::number(output.cosine)},
                               {"min_cosine", pipeline::number(output.min_cosine)},
                               {"near_zero", output.near_zero}});
  }
  json["findings"] = pipeline::findings_json(forecast.findings);
  json["tried_seconds"] = forecast.tried_seconds;
  return pipeline::text(json);
}

}  // namespace quarkq

// SPDX-License-Identifier: MIT
#include "quarkq/convert.h"

#include "base/stopwatch.h"
#include "config/targets/target.h"
#include "exec/environment.h"
#include "onnx_io/check_model.h"
#include "onnx_io/save.h"
#include "pass/output_guard.h"
#include "pipeline/report/check_target.h"
#include "pipeline/report/json.h"
#include "pipeline/run/facts.h"
#include "pipeline/run/job.h"
#include "pipeline/run/pass_runner.h"
#include "pipeline/run/plan_model.h"
#include "qdq/import/lift.h"
#include "quarkq/status.h"

namespace quarkq {
namespace {

using pass::Phase;

/// Passes on float models that change attributes only: slots of a plan stay true.
const std::set<std::string> kKeepValues = {"explicit-conv-attributes"};
/// On a model without a plan.
const std::set<std::string> kOfAnyResult = {"name-nodes", "stamp-model"};

Status run_some(pipeline::RunState& state, pipeline::PhaseRange range, const std::set<std::string>& only) {
  std::vector<PassTime> times;
  pipeline::RunnerOptions options;
  options.only = only;
  return pipeline::run_passes(state, range, times, options);
}

/// A pair for each reader, as settings ask; pairs that were dedicated already stay so.
void dedicate_pairs(const ir::Graph& graph, plan::QuantPlan& plan) {
  plan.dedicated_pairs = true;
  for (const plan::QuantSlot& slot : plan.slots()) {
    std::vector<ir::Use>& uses = plan.dedicated_uses[static_cast<size_t>(slot.value.index)];
    if (slot.stage.kind != plan::StageKind::kPair || !uses.empty()) continue;
    for (const ir::Use& use : graph.value(slot.value).uses) {
      if (!use.is_capture) uses.push_back(use);
    }
  }
}

/// The model with its own scales, in the form that the settings ask for. Returns the number of tensors with scales.
Result<size_t> write_anew(pipeline::RunState& state) {
  QQ_TRY(qdq::LiftedModel lifted, qdq::lift(state.model));
  state.model = std::move(lifted.model);
  state.plan = std::move(lifted.plan);
  const size_t tensors = state.plan.slots().size();
  if (tensors == 0) return unsupported("no pair of QuantizeLinear and DequantizeLinear was found that can be read");
  state.plan.operators = plan::QdqOperators(state.settings, state.model.opset());
  if (state.settings.qdq.dedicated_qdq_pair) dedicate_pairs(state.graph(), state.plan);
  QQ_RETURN_IF_ERROR(run_some(state, {.from = Phase::kAdapt, .until = Phase::kMark}, kKeepValues));
  QQ_RETURN_IF_ERROR(run_some(state, {.from = Phase::kWrite}, {}));
  return tensors;
}

Result<size_t> make_float(pipeline::RunState& state) {
  QQ_TRY(qdq::LiftedModel lifted, qdq::lift(state.model));
  const size_t tensors = lifted.plan.slots().size();
  state.model = qdq::strip(std::move(lifted));
  QQ_RETURN_IF_ERROR(run_some(state, {.from = Phase::kAdapt, .until = Phase::kMark}, kKeepValues));
  QQ_RETURN_IF_ERROR(run_some(state, {.from = Phase::kWrite}, kOfAnyResult));
  return tensors;
}

/// How far the outputs are from those of the imported model. Nothing, and a notice, where the model cannot be run on a
/// random sample.
std::optional<double> difference_of(const ir::Model& original, pipeline::RunState& result, bool is_float,
                                    bool& is_same) {
  is_same = true;
  const Result<pass::OutputGuard> guard =
      pass::OutputGuard::on_random_sample(original, result.environment, original.graph);
  if (!guard.ok()) {
    result.diagnostics.add("import-not-compared", "", guard.status().message());
    return std::nullopt;
  }
  const double distance = guard.value().distance(result.model);
  is_same = is_float || distance <= guard.value().tolerance();
  return distance;
}

Result<bool> target_converts(const config::Settings& settings) {
  if (!settings.target) return false;
  QQ_TRY(const config::Target target, config::load_target(*settings.target));
  return target.takes_float();
}

Status check_is_quantized(const ImportReport& report) {
  if (!report.before.empty()) return Status();
  return unsupported(report.model_path, ": is a float model, there is nothing to import; use quarkq quantize");
}

}  // namespace

Result<ImportReport> import_model(const ImportRequest& request) {
  const Stopwatch watch;
  const auto environment = exec::Environment::begin(request.threads, request.memory_ceiling);
  pipeline::RunState state;
  ImportReport report;
  report.model_path = request.model_path;
  report.output_path = request.output_path;
  QQ_RETURN_IF_ERROR(pipeline::check_output(request.model_path, request.output_path));
  // A preset would state what is quantized, and a target where the model ends. Both are decided.
  std::vector<std::string> settings = {"quant_config={}", "legalize.tail=keep"};
  settings.insert(settings.end(), request.settings.begin(), request.settings.end());
  QQ_TRY(pipeline::Job job, pipeline::open_job(request.model_path, {"", settings}, environment, state.diagnostics));
  const ir::Model& original = job.model;
  report.producer =
      cat(original.producer_name, original.producer_version.empty() ? "" : " ", original.producer_version);
  report.input_opset = original.opset();
  report.before = pipeline::count_quantizing_ops(original.graph);
  QQ_RETURN_IF_ERROR(check_is_quantized(report));
  pipeline::begin(state, job);
  QQ_RETURN_IF_ERROR(run_some(state, {.until = Phase::kPrepare}, {"legalize-opset"}));
  QQ_TRY(const bool converts, target_converts(state.settings));
  const bool is_float = request.to_float || converts;
  QQ_TRY(report.tensors, (is_float ? make_float(state) : write_anew(state)).context(request.model_path));
  QQ_RETURN_IF_ERROR(onnx_io::check_model(state.model).context("the imported model did not pass its check"));
  bool is_same = true;
  report.difference = difference_of(original, state, is_float, is_same);
  if (!is_same) {
    return Status(Code::kInternal, cat(request.model_path, ": outputs of the imported model differ by ",
                                       *report.difference, " of their range; nothing was written, please report this"));
  }
  report.after = pipeline::count_quantizing_ops(state.model.graph);
  report.output_opset = state.model.opset();
  QQ_TRY(report.target, pipeline::judge_target(state.model, request.output_path, state.settings, state.diagnostics));
  QQ_TRY(const onnx_io::SaveReport saved, onnx_io::save(state.model, request.output_path));
  report.bytes = saved.model_bytes + saved.data_bytes;
  report.findings = pipeline::findings_of(state.diagnostics);
  report.seconds = watch.seconds();
  return report;
}

std::string to_json(const ImportReport& report) {
  pipeline::Json json = pipeline::Json::object();
  json["quarkq"] = version();
  json["model"] = report.model_path;
  json["output"] = report.output_path;
  json["producer"] = report.producer;
  json["opset"] = {{"before", report.input_opset}, {"after", report.output_opset}};
  json["quantizing_nodes"] = {{"before", report.before}, {"after", report.after}};
  json["tensors"] = report.tensors;
  json["difference"] = report.difference ? pipeline::number(*report.difference) : pipeline::Json(nullptr);
  json["target"] = report.target ? pipeline::target_json(*report.target) : pipeline::Json(nullptr);
  json["bytes"] = report.bytes;
  json["findings"] = pipeline::findings_json(report.findings);
  json["seconds"] = report.seconds;
  return pipeline::text(json);
}

}  // namespace quarkq

// SPDX-License-Identifier: MIT
// The report of a quantize run as JSON. Keys and their order are part of the contract (docs/report.md).
#include "pipeline/report/details.h"
#include "pipeline/report/json.h"
#include "quarkq/analyze.h"
#include "quarkq/convert.h"
#include "quarkq/quantize.h"
#include "quarkq/status.h"

namespace quarkq {

using pipeline::agreement_json;
using pipeline::findings_json;
using pipeline::Json;
using pipeline::number;
using pipeline::tensors_json;

namespace {

Json phases_json(const std::vector<PassTime>& phases) {
  Json all = Json::array();
  for (const PassTime& phase : phases) {
    all.push_back({{"name", phase.name},
                   {"seconds", phase.seconds},
                   {"changed", phase.changed},
                   {"nodes_before", phase.nodes_before},
                   {"nodes_after", phase.nodes_after}});
  }
  return all;
}

Json input_json(const InputReport& input) {
  return {{"name", input.name}, {"type", input.type}, {"shape", input.shape}, {"samples", input.samples},
          {"min", input.least}, {"max", input.most},  {"mean", input.mean},   {"std", input.deviation}};
}

Json task_json(const TaskAgreement& task) {
  return {{"task", task.task}, {"value", number(task.value)}, {"grade", grade_name(task.grade)}, {"text", task.text}};
}

Json output_agreement_json(const OutputAgreement& output) {
  const bool makes_choices = output.task && output.task->task == "rows";
  return {{"name", output.name},
          {"cosine", number(output.cosine)},
          {"sqnr_db", pipeline::decibels(output.sqnr_db)},
          {"min_cosine", number(output.min_cosine)},
          {"worst_sample", output.worst_sample},
          {"near_zero", output.near_zero},
          {"minor", output.minor ? agreement_json(*output.minor) : Json(nullptr)},
          {"same_choices", makes_choices ? number(output.task->value) : Json(nullptr)},
          {"same_not_finite", output.same_not_finite},
          {"different_not_finite", output.different_not_finite},
          {"task", output.task ? task_json(*output.task) : Json(nullptr)},
          {"fed_back", output.fed_back ? agreement_json(*output.fed_back) : Json(nullptr)}};
}

Json figure_json(const IntervalFigure& figure) {
  return {{"value", number(figure.value)}, {"low", number(figure.low)}, {"high", number(figure.high)}};
}

Json text_json(const TextAgreement& text) {
  Json continuations = Json::array();
  for (const Continuation& one : text.continuations) {
    continuations.push_back({{"sample", one.sample},
                             {"prompt", one.prompt},
                             {"length", one.length},
                             {"same", one.same},
                             {"first_difference", one.first_difference ? Json(*one.first_difference) : Json(nullptr)}});
  }
  return {{"output", text.output},
          {"samples", text.samples},
          {"tokens", text.ids},
          {"float_perplexity", figure_json(text.expected)},
          {"quantized_perplexity", figure_json(text.found)},
          {"perplexity_ratio", figure_json(text.ratio)},
          {"same_next", number(text.same_next)},
          {"continuations", continuations}};
}

Json tuned_layers_json(const std::vector<TunedLayer>& layers) {
  Json all = Json::array();
  for (const TunedLayer& layer : layers) {
    all.push_back({{"node", layer.node},
                   {"algorithm", layer.algorithm},
                   {"error_before", number(layer.error_before)},
                   {"error_after", number(layer.error_after)},
                   {"kept", layer.kept},
                   {"resumed", layer.resumed},
                   {"seconds", layer.seconds}});
  }
  return all;
}

/// Returns null if no such file was written.
Json path_json(const std::string& path) { return path.empty() ? Json(nullptr) : Json(path); }

Json rescue_json(const RescueReport& rescue) {
  return {{"before", agreement_json(rescue.before)},
          {"after", agreement_json(rescue.after)},
          {"samples", rescue.samples},
          {"float_changes", rescue.float_changes},
          {"rounding", rescue.rounding},
          {"searched_scales", rescue.searched_scales},
          {"channel_scales", rescue.channel_scales},
          {"tensors_in_16_bits", rescue.tensors_in_16_bits},
          {"float_nodes", rescue.float_nodes},
          {"unnamed_float_nodes", rescue.unnamed_float_nodes},
          {"float_macs", rescue.float_macs},
          {"settings", rescue.settings},
          {"settings_path", path_json(rescue.settings_path)},
          {"seconds", rescue.seconds},
          {"macs_in_16_bits", rescue.macs_in_16_bits},
          {"islands", rescue.islands}};
}

Json metrics_json(const EvalMetrics& metrics) {
  return {{"samples", metrics.samples},
          {"folder", metrics.folder},
          {"mean_cosine", number(metrics.mean_cosine)},
          {"min_cosine", number(metrics.min_cosine)},
          {"mean_l2", number(metrics.mean_l2)},
          {"max_l2", number(metrics.max_l2)},
          {"mean_psnr", number(metrics.mean_psnr)},
          {"min_psnr", number(metrics.min_psnr)},
          {"mean_ssim", number(metrics.mean_ssim)},
          {"min_ssim", number(metrics.min_ssim)}};
}

Json node_formats_json(const std::vector<NodeFormats>& nodes) {
  Json all = Json::array();
  for (const NodeFormats& node : nodes) {
    all.push_back({{"node", node.node},
                   {"op", node.op},
                   {"inputs", pipeline::quantized_json(node.inputs)},
                   {"outputs", pipeline::quantized_json(node.outputs)}});
  }
  return all;
}

}  // namespace

std::string to_json(const CalibrateReport& report) {
  Json json = Json::object();
  json["quarkq"] = version();
  json["output"] = report.output_path;
  json["tensors"] = report.tensors;
  json["samples"] = report.samples;
  json["total_samples"] = report.total_samples;
  json["values"] = report.values;
  json["bytes"] = report.bytes;
  json["findings"] = findings_json(report.findings);
  json["seconds"] = report.seconds;
  return pipeline::text(json);
}

std::string to_json(const OptimizeReport& report) {
  Json json = Json::object();
  json["quarkq"] = version();
  json["model"] = report.model_path;
  json["output"] = report.output_path;
  json["nodes"] = {{"before", report.nodes_before}, {"after", report.nodes_after}};
  json["bytes"] = report.bytes;
  json["passes"] = phases_json(report.passes);
  json["findings"] = findings_json(report.findings);
  json["seconds"] = report.seconds;
  json["tail"] = path_json(report.tail_path);
  return pipeline::text(json);
}

std::string to_json(const QuantizeReport& report) {
  Json json = Json::object();
  json["quarkq"] = version();
  json["model"] = report.model_path;
  json["output"] = report.output_path;
  json["preset"] = report.preset;
  json["quantizer"] = report.quantizer;
  json["isa"] = report.isa;
  json["threads"] = report.threads;
  json["threads_why"] = report.threads_why;
  json["samples"] = report.samples;
  json["inputs"] = Json::array();
  for (const InputReport& input : report.inputs) json["inputs"].push_back(input_json(input));
  json["sample_cautions"] = report.sample_cautions;
  json["opset"] = {{"input", report.input_opset}, {"output", report.output_opset}};
  json["nodes"] = {
      {"total", report.nodes_total}, {"selected", report.nodes_quantized}, {"folded", report.nodes_folded}};
  json["operators"] = pipeline::operators_json(report.operators);
  json["calibrated_tensors"] = report.calibrated_tensors;
  json["tensors"] = report.tensors_by_type;
  json["ops"] = {{"float", report.float_ops}, {"quantized", report.quantized_ops}};
  json["bytes"] = {
      {"input", report.model_bytes}, {"output", report.output_bytes}, {"external_data", report.external_data}};
  json["nothing_to_quantize"] = report.nothing_to_quantize;
  json["target"] = report.target ? pipeline::target_json(*report.target) : Json(nullptr);
  if (report.target) json["target"]["asked"] = !report.target_is_default;
  json["deployable"] = pipeline::deployable_json(report.deployable);
  json["tail"] = path_json(report.tail_path);
  json["tail_nodes"] = report.tail_nodes;
  json["joined"] = path_json(report.joined_path);
  json["rescue"] = report.rescue ? rescue_json(*report.rescue) : Json(nullptr);
  json["outputs"] = Json::array();
  for (const OutputAgreement& output : report.outputs) json["outputs"].push_back(output_agreement_json(output));
  json["metric"] = report.metric ? number(*report.metric) : Json(nullptr);
  json["verdict"] = nullptr;
  if (const auto& verdict = report.verdict)
    json["verdict"] = {{"grade", grade_name(verdict->grade)}, {"why", verdict->why}, {"next", verdict->next}};
  json["tuned_layers"] = tuned_layers_json(report.tuned_layers);
  json["tuned_outputs"] = nullptr;
  if (const auto& outputs = report.tuned_outputs) {
    json["tuned_outputs"] = {{"samples", outputs->samples},
                             {"cosine_before", number(outputs->cosine_before)},
                             {"cosine_after", number(outputs->cosine_after)}};
  }
  json["phases"] = phases_json(report.phases);
  json["findings"] = findings_json(report.findings);
  json["seconds"] = report.seconds;
  json["worst_tensors"] = tensors_json(report.worst_tensors);
  json["causes"] = tensors_json(report.causes);
  json["compared"] = {{"samples", report.compared_samples}, {"folder", report.compared_folder}};
  json["eval_metrics"] = report.metrics ? metrics_json(*report.metrics) : Json(nullptr);
  json["node_formats"] = report.nodes ? node_formats_json(*report.nodes) : Json(nullptr);
  json["text"] = report.text ? text_json(*report.text) : Json(nullptr);
  if (report.details) json["details"] = pipeline::details_json(*report.details);
  return pipeline::text(json);
}

}  // namespace quarkq

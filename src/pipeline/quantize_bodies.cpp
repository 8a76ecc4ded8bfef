// SPDX-License-Identifier: MIT
#include "pipeline/quantize_bodies.h"

#include <algorithm>

#include "calib/run_all.h"
#include "ir/edit.h"
#include "ir/search.h"
#include "onnx_io/infer.h"
#include "pipeline/body_model.h"
#include "pipeline/body_samples.h"
#include "pipeline/write_plan.h"

namespace quarkq::pipeline {
namespace {

/// Names in settings are those of nodes and tensors of the model, not of its bodies, which are excluded with their
/// node.
config::Settings for_bodies(config::Settings settings) {
  settings.exclude_selectors.clear();
  settings.specific_layers.clear();
  settings.passes = {};
  auto& selection = settings.selection;
  for (auto* names : {&selection.input_nodes, &selection.output_nodes, &selection.nodes_to_quantize}) names->clear();
  settings.algorithms.include_fast_ft = settings.algorithms.include_auto_mp = false;
  return settings;
}

/// Nodes of the model that have bodies to quantize.
std::vector<ir::NodeId> nodes_with_bodies(const RunState& state) {
  std::vector<ir::NodeId> nodes;
  for (const ir::NodeId id : state.graph().order()) {
    const ir::Node& node = state.graph().node(id);
    const bool is_taken = state.selection.takes(node) && !state.selection.left_float.contains(id);
    if (is_taken && !ir::nested_graphs(node).empty()) nodes.push_back(id);
  }
  return nodes;
}

/// Runs the float model over the samples. The bodies are the same graphs there.
Status record_calls(const RunState& state, const std::vector<ir::NodeId>& nodes, BodyRecorder& recorder) {
  for (const ir::NodeId id : nodes) {
    for (const ir::Graph* body : ir::nested_graphs(state.graph().node(id))) recorder.listen_to(*body);
  }
  if (state.source.data == nullptr || !state.calibrated) return Status();
  exec::SessionOptions options;
  options.limits.body_sink = &recorder;
  const size_t count = state.source.data->size();
  const auto watch = [&](size_t sample, const std::vector<ir::Tensor>&) {
    if (state.progress && !state.progress(sample + 1, count)) return Status(Code::kInterrupted, "interrupted");
    return Status();
  };
  return calib::run_all(*state.calibrated, std::move(options), *state.source.data, "bodies", watch);
}

/// For each input of the body model the value of the body whose content it gets.
std::vector<ir::ValueId> fed_values(const BodyModel& body) {
  std::vector<ir::ValueId> values = body.model.graph.required_inputs();
  for (ir::ValueId& value : values) {
    const auto found = std::ranges::find(body.stand_ins, value, &StandIn::local);
    if (found != body.stand_ins.end()) value = found->captured;
  }
  return values;
}

/// Null: nothing in it is quantized.
Result<ir::GraphPtr> quantized_body(RunState& outer, const ir::Node& node, const ir::Graph& body,
                                    const BodyRecorder& recorder) {
  QQ_TRY(BodyModel made, make_body_model(outer.model, node, body));
  const BodyReader samples(recorder.calls(body), fed_values(made));
  config::Settings settings = for_bodies(outer.settings);
  if (samples.size() == 0) settings.selection.weights_only = true;
  Diagnostics diagnostics;
  QQ_RETURN_IF_ERROR(onnx_io::infer_types(made.model, diagnostics));
  RunState state{made.model, settings, diagnostics};
  if (samples.size() > 0) state.source.data = &samples;
  state.progress = outer.progress;
  RunnerOptions options;
  options.phase = [&](const std::string&) { return !outer.progress || outer.progress(0, 0); };
  std::vector<PassTime> times;
  QQ_RETURN_IF_ERROR(run_passes(state, {.until = pass::Phase::kConvert}, times, options));
  QQ_RETURN_IF_ERROR(run_passes(state, {.from = pass::Phase::kMark, .until = pass::Phase::kWrite}, times, options));
  QQ_RETURN_IF_ERROR(write_plan(state, times, options));
  if (!has_written(times)) return ir::GraphPtr();
  for (const auto& [domain, version] : made.model.opsets) {
    if (outer.model.opset(domain) == 0) outer.model.set_opset(domain, version);
  }
  return std::make_shared<const ir::Graph>(body_of(std::move(made)));
}

/// Captures that no body reads any more are dropped.
void tidy_captures(ir::Graph& graph, ir::NodeId id) {
  std::vector<ir::Capture> kept;
  for (const ir::Capture& capture : graph.node(id).captures) {
    const std::vector<const ir::Graph*> bodies = ir::nested_graphs(graph.node(id));
    const bool is_read = std::ranges::any_of(bodies, [&](const ir::Graph* body) {
      return std::ranges::any_of(body->captured(),
                                 [&](ir::ValueId value) { return body->value(value).name == capture.name; });
    });
    if (is_read) kept.push_back(capture);
  }
  ir::GraphEdit(graph).set_captures(id, std::move(kept));
}

/// Each body of the node by itself: what fails stays float, and is reported. Fails only with kInterrupted.
Result<Changed> quantize_bodies_of(RunState& state, ir::NodeId id, const BodyRecorder& recorder) {
  Changed changed = Changed::kNo;
  const std::vector<ir::Attribute> attributes = state.graph().node(id).attributes;
  for (const ir::Attribute& attribute : attributes) {
    const auto* body = std::get_if<ir::GraphPtr>(&attribute.value);
    if (body == nullptr) continue;
    const std::string subject = cat(state.graph().label(id), ", ", attribute.name);
    Result<ir::GraphPtr> quantized = quantized_body(state, state.graph().node(id), **body, recorder);
    if (quantized.status().code() == Code::kInterrupted) return quantized.status();
    if (!quantized.ok()) state.diagnostics.add("body-float", subject, quantized.status().message());
    if (!quantized.ok() || quantized.value() == nullptr) continue;
    if (recorder.calls(**body).empty())
      state.diagnostics.add("body-weights-only", subject, "no sample calls it: only its weights are quantized");
    ir::GraphEdit(state.model.graph).node(id).set(attribute.name, std::move(quantized).value());
    changed = Changed::kYes;
  }
  tidy_captures(state.model.graph, id);
  return changed;
}

}  // namespace

Result<Changed> quantize_bodies(RunState& state) {
  if (!state.settings.selection.enable_subgraph || !state.settings.quirk(config::Quirk::kQuantizeBodies))
    return Changed::kNo;
  const std::vector<ir::NodeId> nodes = nodes_with_bodies(state);
  if (nodes.empty()) return Changed::kNo;
  BodyRecorder recorder;
  QQ_RETURN_IF_ERROR(record_calls(state, nodes, recorder));
  Changed changed = Changed::kNo;
  for (const ir::NodeId id : nodes) {
    QQ_TRY(const Changed body_changed, quantize_bodies_of(state, id, recorder));
    if (body_changed == Changed::kYes) changed = Changed::kYes;
  }
  ir::GraphEdit(state.model.graph).remove_unused_initializers();
  return changed;
}

}  // namespace quarkq::pipeline

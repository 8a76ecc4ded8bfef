// SPDX-License-Identifier: MIT
#include "pipeline/run/write_plan.h"

#include <algorithm>

#include "base/stopwatch.h"
#include "calib/sample_run.h"
#include "ir/edit.h"
#include "ir/traversal.h"
#include "onnx_io/infer.h"
#include "pipeline/run/conversions.h"
#include "qdq/passes.h"

namespace quarkq::pipeline {

namespace {

/// The value of the enclosing graph that is captured as `name`; invalid when there is none.
ir::ValueId captured_value(const ir::Node& node, const std::string& name) {
  const auto found = std::ranges::find(node.captures, name, &ir::Capture::name);
  return found == node.captures.end() ? ir::ValueId() : found->outer;
}

std::string label_of(const ir::Graph& graph, const ir::Node& node) {
  for (const ir::ValueId output : node.outputs) {
    if (output.valid()) return graph.value(output).name;
  }
  return node.name;
}

}  // namespace

Result<BodyModel> make_body_model(const ir::Model& enclosing, const ir::Node& node, const ir::Graph& body) {
  BodyModel made;
  made.model.graph = body;  // shares the weights
  made.model.opsets = enclosing.opsets;
  made.model.opset_order = enclosing.opset_order;
  made.model.ir_version = enclosing.ir_version;
  made.model.path = enclosing.path;
  ir::GraphEdit edit(made.model.graph);
  const std::string label = label_of(enclosing.graph, node);
  for (const ir::ValueId captured : body.captured()) {
    const std::string name = body.value(captured).name;
    const ir::ValueId outer = captured_value(node, name);
    if (!outer.valid()) return corrupt_model("the body reads ", name, ", which is not defined around it");
    if (body.value(captured).is_output) return unsupported("the body returns ", name, ", which is defined around it");
    const ir::ValueId local = edit.add_value(cat(name, "_in_", label), enclosing.graph.value(outer).type);
    if (const ir::Tensor* constant = enclosing.graph.constant(outer)) {
      edit.set_constant(local, *constant);
    } else {
      edit.add_graph_input(local);
    }
    edit.replace_uses(captured, local);
    edit.unmark_captured(captured);
    edit.remove_value(captured);
    made.stand_ins.push_back({captured, local, name});
  }
  return made;
}

ir::Graph body_of(BodyModel model) {
  ir::Graph body = std::move(model.model.graph);
  ir::GraphEdit edit(body);
  for (const StandIn& stand_in : model.stand_ins) {
    if (!body.is_alive(stand_in.local)) continue;
    if (!body.value(stand_in.local).uses.empty()) {
      const ir::ValueId captured = edit.add_value(stand_in.name, body.value(stand_in.local).type);
      edit.mark_captured(captured);
      edit.replace_uses(stand_in.local, captured);
    }
    edit.clear_constant(stand_in.local);
    edit.remove_value(stand_in.local);
  }
  return body;
}

namespace {

constexpr size_t kMostCalls = 64;  // of one body: twice what calibration takes for enough samples

/// Memory of its own: the executor uses its buffers again.
ir::Tensor copied(const ir::Tensor& tensor) {
  ir::Tensor copy = tensor;
  copy.mutable_raw();
  return copy;
}

/// Every second call goes.
void thin(std::vector<BodyRecorder::Call>& calls) {
  for (size_t i = 1; 2 * i < calls.size(); ++i) calls[i] = std::move(calls[2 * i]);
  calls.resize((calls.size() + 1) / 2);
}

}  // namespace

Status BodyRecorder::on_call(const ir::Graph& body, std::span<const ir::ValueId> values,
                             std::span<const ir::Operand> operands) {
  const auto found = bodies_.find(&body);
  if (found == bodies_.end()) return Status();
  Calls& calls = found->second;
  if (calls.seen++ % calls.stride != 0) return Status();
  Call call;
  for (size_t i = 0; i < values.size(); ++i) {
    if (!operands[i].is_tensor() || operands[i].tensor.type() == ElementType::kString) return Status();
    call[values[i]] = copied(operands[i].tensor);
  }
  calls.kept.push_back(std::move(call));
  if (calls.kept.size() < kMostCalls) return Status();
  thin(calls.kept);
  calls.stride *= 2;
  return Status();
}

BodyReader::BodyReader(const std::vector<BodyRecorder::Call>& calls, const std::vector<ir::ValueId>& inputs) {
  for (const BodyRecorder::Call& call : calls) {
    if (!std::ranges::all_of(inputs, [&](ir::ValueId input) { return call.contains(input); })) continue;
    calib::Sample sample;
    sample.name = cat("call ", samples_.size());
    for (const ir::ValueId input : inputs) sample.inputs.push_back(call.at(input));
    samples_.push_back(std::move(sample));
  }
}

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
  return calib::run_all(*state.calibrated, state.environment, std::move(options), {*state.source.data, "bodies"},
                        watch);
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
  RunState state{.model = std::move(made.model), .settings = std::move(settings), .environment = outer.environment};
  QQ_RETURN_IF_ERROR(onnx_io::infer_types(state.model, state.diagnostics));
  if (samples.size() > 0) state.source.data = &samples;
  state.progress = outer.progress;
  RunnerOptions options;
  options.phase = [&](const std::string&) { return !outer.progress || outer.progress(0, 0); };
  std::vector<PassTime> times;
  QQ_RETURN_IF_ERROR(run_passes(state, {.until = pass::Phase::kConvert}, times, options));
  QQ_RETURN_IF_ERROR(run_passes(state, {.from = pass::Phase::kMark, .until = pass::Phase::kWrite}, times, options));
  QQ_RETURN_IF_ERROR(write_plan(state, times, options));
  if (!has_written(times)) return ir::GraphPtr();
  made.model = std::move(state.model);
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

namespace {

constexpr const char* kQuantizeBodies = "quantize-bodies";  // in the list of what took how long

Status write_bodies(RunState& state, std::vector<PassTime>& times) {
  const Stopwatch watch;
  const size_t nodes = state.graph().order().size();
  QQ_TRY(const Changed changed, quantize_bodies(state));
  if (changed == Changed::kYes) times.push_back({kQuantizeBodies, watch.seconds(), true, nodes, nodes});
  return Status();
}

}  // namespace

bool has_written(const std::vector<PassTime>& times) {
  return has_changed(times, pass::Phase::kWrite) ||
         std::ranges::any_of(times, [](const PassTime& time) { return time.name == kQuantizeBodies; });
}

Status write_plan(RunState& state, std::vector<PassTime>& times, const RunnerOptions& options) {
  QQ_RETURN_IF_ERROR(write_bodies(state, times));
  QQ_RETURN_IF_ERROR(run_passes(state, {.from = pass::Phase::kWrite}, times, options));
  if (state.settings.passes.after.empty()) return Status();
  QQ_RETURN_IF_ERROR(run_listed(state.settings.passes.after, {state.model, state.environment, state.diagnostics}));
  pass::QdqContext context = state.qdq_context();
  return qdq::stamp_model(context).status();
}

}  // namespace quarkq::pipeline

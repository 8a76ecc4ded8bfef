// SPDX-License-Identifier: MIT
#include "exec/stage.h"

#include <algorithm>

#include "exec/evaluation.h"
#include "ir/traversal.h"
#include "onnx_io/schemas.h"

namespace quarkq::exec {

NestedGraphs::NestedGraphs(const ir::Node& node, const SessionScope& scope, const std::vector<Constant>& constants)
    : scope_(scope) {
  for (const ir::Attribute& attribute : node.attributes) {
    const auto* graph = std::get_if<ir::GraphPtr>(&attribute.value);
    if (graph != nullptr) add(node, attribute.name, **graph, constants);
  }
}

void NestedGraphs::add(const ir::Node& node, const std::string& attribute, const ir::Graph& graph,
                       const std::vector<Constant>& constants) {
  Entry entry;
  entry.attribute = attribute;
  entry.graph = &graph;
  SessionOptions options;
  options.limits = scope_.limits;
  options.fetches = graph.outputs();
  options.feeds = graph.inputs();
  for (const ir::ValueId inner : graph.captured()) {
    const std::string& name = graph.value(inner).name;
    const auto capture = std::find_if(node.captures.begin(), node.captures.end(),
                                      [&](const ir::Capture& candidate) { return candidate.name == name; });
    if (capture == node.captures.end()) continue;  // compile() names the node that lacks it
    const auto known = std::find_if(constants.begin(), constants.end(),
                                    [&](const Constant& constant) { return constant.value == capture->outer; });
    if (known != constants.end()) {
      options.constants.push_back({inner, known->tensor});
    } else {
      options.feeds.push_back(inner);
      entry.captured.push_back(capture->outer);
    }
  }
  entry.feeds = options.feeds;
  entry.constants = options.constants;
  entry.session =
      std::make_unique<Session>(graph, scope_.opsets, scope_.environment, std::move(options), Nesting::kNested);
  entries_.push_back(std::move(entry));
}

const ir::Graph* NestedGraphs::find(std::string_view name) const {
  for (const Entry& entry : entries_) {
    if (entry.attribute == name) return entry.graph;
  }
  return nullptr;
}

Status NestedGraphs::announce(const Entry& entry, std::span<const ir::Operand> operands) const {
  std::vector<ir::ValueId> values = entry.feeds;
  std::vector<ir::Operand> held(operands.begin(), operands.end());
  for (const Constant& constant : entry.constants) {
    values.push_back(constant.value);
    held.emplace_back(constant.tensor);
  }
  return scope_.limits.body_sink->on_call(*entry.graph, values, held);
}

Result<std::vector<ir::Operand>> NestedGraphs::run(std::string_view name, std::span<const ir::Operand> inputs) {
  const auto entry =
      std::find_if(entries_.begin(), entries_.end(), [&](const Entry& known) { return known.attribute == name; });
  std::vector<ir::Operand> operands(inputs.begin(), inputs.end());
  for (const ir::ValueId outer : entry->captured) operands.push_back((*outer_)[static_cast<size_t>(outer.index)]);
  if (scope_.limits.body_sink != nullptr) QQ_RETURN_IF_ERROR(announce(*entry, operands));
  QQ_TRY(const std::vector<ir::Operand>* const results, entry->session->run_operands(operands));
  return *results;
}

namespace {

bool is_constant(const std::vector<Constant>& constants, ir::ValueId value) {
  return std::any_of(constants.begin(), constants.end(), [&](const Constant& known) { return known.value == value; });
}

}  // namespace

FeedShape FeedShape::of(const ir::Operand& operand) {
  return {operand.kind, operand.tensor.type(), operand.tensor.dims()};
}

bool FeedShape::fits(const ir::Operand& operand) const {
  return kind == operand.kind && type == operand.tensor.type() && dims == operand.tensor.dims();
}

DeferredStep::DeferredStep(Deferred deferred, const ir::Graph& graph, const SessionScope& scope,
                           const std::vector<Constant>& constants)
    : deferred_(std::move(deferred)), graph_(graph), scope_(scope) {
  const ir::Node& node = *deferred_.node;
  if (deferred_.op != nullptr) {
    if (deferred_.op->evaluate != nullptr) {
      graphs_ = std::make_unique<NestedGraphs>(node, scope, constants);
    }
    return;
  }
  for (const ir::ValueId input : node.inputs) {
    if (input.valid()) body_inputs_.push_back(input);
  }
  for (const ir::Capture& capture : node.captures) body_inputs_.push_back(capture.outer);
  for (const ir::ValueId input : body_inputs_) body_constant_.push_back(is_constant(constants, input));
}

Status DeferredStep::run(std::vector<ir::Operand>& values) {
  const ir::Node& node = *deferred_.node;
  std::vector<const ir::Operand*> inputs;
  bool all_tensors = true;
  for (const ir::ValueId input : node.inputs) {
    inputs.push_back(input.valid() ? &values[static_cast<size_t>(input.index)] : nullptr);
    all_tensors = all_tensors && (inputs.back() == nullptr || inputs.back()->is_tensor());
  }
  std::vector<ir::Operand> outputs;
  const OpDef* op = deferred_.op;
  if (op == nullptr) {
    QQ_TRY(outputs, run_body(values));
  } else if (op->prepare != nullptr && (all_tensors || op->evaluate == nullptr)) {
    QQ_TRY(outputs, run_prepared_now(inputs));
  } else {
    graphs_->read_captures_from(values);
    Evaluation evaluation(node, inputs, graphs_.get());
    QQ_RETURN_IF_ERROR(op->evaluate(evaluation).context(deferred_.label));
    outputs = std::move(evaluation.outputs());
  }
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i].valid()) values[static_cast<size_t>(node.outputs[i].index)] = std::move(outputs[i]);
  }
  return Status();
}

Result<std::vector<ir::Operand>> DeferredStep::run_prepared_now(const std::vector<const ir::Operand*>& inputs) const {
  std::vector<const ir::Tensor*> known;
  known.reserve(inputs.size());
  for (const ir::Operand* input : inputs) known.push_back(input == nullptr ? nullptr : &input->tensor);
  QQ_TRY(auto results,
         run_known({*deferred_.op, *deferred_.node, deferred_.label, deferred_.opset, scope_.limits.memory}, known));
  if (!results) return internal_error(deferred_.label, ": has no kernel even with all its inputs known");
  std::vector<ir::Tensor>& tensors = *results;
  return std::vector<ir::Operand>(std::make_move_iterator(tensors.begin()), std::make_move_iterator(tensors.end()));
}

Status DeferredStep::make_body(const std::vector<const ir::Operand*>& operands) {
  const ir::Node& node = *deferred_.node;
  body_ = {};
  QQ_TRY(body_.body, onnx_io::function_body(graph_, node.id, scope_.opsets, operands).context(deferred_.label));
  if (body_.body == nullptr) return make_foreign(operands);
  const ir::Graph& body = body_.body->graph;
  SessionOptions options;
  options.limits = scope_.limits;
  options.fetches = body.outputs();
  for (size_t i = 0; i < operands.size(); ++i) {
    body_.shapes.push_back(FeedShape::of(*operands[i]));
    if (body_constant_[i] && operands[i]->is_tensor()) {
      options.constants.push_back({body.inputs()[i], operands[i]->tensor});
    } else {
      options.feeds.push_back(body.inputs()[i]);
    }
  }
  body_.session = std::make_unique<Session>(body, body_.body->opsets, scope_.environment, std::move(options));
  return Status();
}

Status DeferredStep::make_foreign(const std::vector<const ir::Operand*>& operands) {
  const ir::Node& node = *deferred_.node;
  const std::shared_ptr<const ForeignOperators>& operators = scope_.environment.foreign_operators;
  if (operators == nullptr) {
    return unsupported(deferred_.label, ": operator ", ir::full_op_name(node), " of opset ", deferred_.opset,
                       " has no kernel; ", advice_without_kernel(node.domain));
  }
  std::vector<ir::ValueType> types;
  size_t next = 0;
  for (const ir::ValueId input : node.inputs) {
    ir::ValueType type;
    if (input.valid()) type.element = operands[next++]->tensor.type();
    types.push_back(std::move(type));
  }
  QQ_TRY(body_.foreign, operators->prepare(node, scope_.opsets, types).context(deferred_.label));
  for (const ir::Operand* operand : operands) body_.shapes.push_back(FeedShape::of(*operand));
  return Status();
}

Result<std::vector<ir::Operand>> DeferredStep::run_foreign(const std::vector<const ir::Operand*>& operands) const {
  const ir::Node& node = *deferred_.node;
  std::vector<const ir::Tensor*> inputs;
  size_t next = 0;
  for (const ir::ValueId input : node.inputs) {
    if (input.valid() && !operands[next]->is_tensor())
      return unsupported(deferred_.label, ": input ", inputs.size(), " is a sequence or an empty optional");
    inputs.push_back(input.valid() ? &operands[next++]->tensor : nullptr);
  }
  QQ_TRY(std::vector<ir::Tensor> tensors, body_.foreign->run(inputs).context(deferred_.label));
  return std::vector<ir::Operand>(std::make_move_iterator(tensors.begin()), std::make_move_iterator(tensors.end()));
}

Result<std::vector<ir::Operand>> DeferredStep::run_body(const std::vector<ir::Operand>& values) {
  std::vector<const ir::Operand*> operands;
  for (const ir::ValueId input : body_inputs_) operands.push_back(&values[static_cast<size_t>(input.index)]);
  bool fits = body_.is_made();
  for (size_t i = 0; fits && i < operands.size(); ++i) fits = body_.shapes[i].fits(*operands[i]);
  if (!fits) QQ_RETURN_IF_ERROR(make_body(operands));
  if (body_.foreign != nullptr) return run_foreign(operands);
  std::vector<ir::Operand> feeds;
  for (size_t i = 0; i < operands.size(); ++i) {
    if (!(body_constant_[i] && operands[i]->is_tensor())) feeds.push_back(*operands[i]);
  }
  QQ_TRY(const std::vector<ir::Operand>* const results, body_.session->run_operands(feeds).context(deferred_.label));
  std::vector<ir::Operand> outputs(deferred_.node->outputs.size());
  size_t next = 0;
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (deferred_.node->outputs[i].valid()) outputs[i] = (*results)[next++];
  }
  return outputs;
}

}  // namespace quarkq::exec

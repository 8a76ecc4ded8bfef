// SPDX-License-Identifier: MIT
#include "planning/tune/tape.h"

#include "planning/tune/constant_chain.h"
#include "planning/tune/tape_ops.h"

namespace quarkq::planning::finetune {

Tape::~Tape() = default;

TapeValue* Tape::add_value() {
  values_.push_back(std::make_unique<TapeValue>());
  return values_.back().get();
}

/// The layer with its activation as one operator.
Status Tape::add_layer(const Unit& unit, const ir::Model& model) {
  TapeValue* const input = values_.front().get();
  const ir::Node& node = model.graph.node(unit.layers[0]->node);
  const TapeNode made{model.graph,        node, {input},        {}, *add_value(),
                      unit.channels_last, 0,    unit.layers[0], 0,  /*only_clips=*/false};
  QQ_TRY(ops_.emplace_back(), make_layer_op(made));
  return Status();
}

Status Tape::add_nodes(const Unit& unit, const ir::Model& model) {
  const ir::Graph& graph = model.graph;
  std::vector<TapeValue*> known(graph.value_count(), nullptr);
  known[static_cast<size_t>(unit.start.index)] = values_.front().get();
  for (const ir::NodeId id : unit.nodes) {
    const ir::Node& node = graph.node(id);
    const MakeTapeOp make_op = find_tape_op(graph, node);
    if (make_op == nullptr) return unsupported(graph.label(id), ": is not computed in blocks");
    TapeNode given{graph, node, {}, {}, *add_value(), unit.channels_last, ops_.size()};
    for (size_t i = 0; i < unit.layers.size(); ++i) {
      if (unit.layers[i]->node != id) continue;
      given.layer = unit.layers[i];
      given.layer_index = i;
    }
    const bool is_layer = given.layer != nullptr;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const ir::ValueId value = node.inputs[i];
      given.inputs.push_back(value.valid() ? known[static_cast<size_t>(value.index)] : nullptr);
      std::optional<ir::Tensor>& constant = given.constants.emplace_back();
      if (!value.valid() || given.inputs.back() != nullptr || (is_layer && i > 0)) continue;
      QQ_TRY(const ConstantChain chain, ConstantChain::to(model, value));
      QQ_TRY(constant, chain.run());
    }
    given.only_clips = node.output(0) == unit.end && !unit.rounds_end;
    QQ_TRY(ops_.emplace_back(), make_op(given));
    known[static_cast<size_t>(node.output(0).index)] = values_.back().get();
  }
  return Status();
}

Result<std::unique_ptr<Tape>> Tape::make(const Unit& unit, const ir::Model& model, const ir::Shape& input) {
  std::unique_ptr<Tape> tape(new Tape);
  TapeValue* const start = tape->add_value();
  start->dims = input;
  QQ_TRY(start->size, ir::element_count(input));
  QQ_RETURN_IF_ERROR(unit.is_block() ? tape->add_nodes(unit, model) : tape->add_layer(unit, model));
  TapeValue& result = *tape->values_.back();
  result.gradient.resize(static_cast<size_t>(result.size));
  return tape;
}

int64_t Tape::inner_bytes() const {
  size_t count = 0;
  for (size_t i = 1; i + 1 < values_.size(); ++i) count += 2 * static_cast<size_t>(values_[i]->size);
  return static_cast<int64_t>(count * sizeof(float));
}

const float* Tape::forward(const float* x, const std::vector<LayerValues>& layers, const Mixing& mixing) {
  values_.front()->data = x;
  const TapePass pass{layers, mixing};
  for (const auto& op : ops_) op->forward(pass);
  return values_.back()->data;
}

void Tape::backward(const std::vector<LayerValues>& layers, Gradients& gradients) {
  for (const auto& value : values_) value->has_gradient = false;
  const TapePass pass{layers, {}, &gradients};
  for (auto op = ops_.rbegin(); op != ops_.rend(); ++op) (*op)->backward(pass);
}

}  // namespace quarkq::planning::finetune

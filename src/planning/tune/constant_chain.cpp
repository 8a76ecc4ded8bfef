// SPDX-License-Identifier: MIT
#include "planning/tune/constant_chain.h"

#include <algorithm>

#include "exec/compile.h"
#include "ir/edit.h"

namespace quarkq::planning::finetune {

Result<ConstantChain> ConstantChain::to(const ir::Model& model, ir::ValueId value) {
  ConstantChain chain;
  chain.model_ = &model;
  const ir::Graph& graph = model.graph;
  while (!graph.value(value).is_initializer()) {
    const ir::Node* producer = graph.producer(value);
    if (producer == nullptr || producer->outputs.size() != 1 || !producer->input(0).valid())
      return unsupported("a constant of it is computed");
    for (size_t i = 1; i < producer->inputs.size(); ++i) {
      if (producer->inputs[i].valid() && graph.constant(producer->inputs[i]) == nullptr)
        return unsupported("a constant of it is computed");
    }
    chain.nodes_.push_back(producer->id);
    value = producer->input(0);
  }
  chain.stored_ = value;
  std::reverse(chain.nodes_.begin(), chain.nodes_.end());
  return chain;
}

Result<ir::Tensor> ConstantChain::run(const ir::Tensor& start) const {
  ir::Tensor tensor = start;
  for (const ir::NodeId id : nodes_) {
    const ir::Node& node = model_->graph.node(id);
    std::vector<const ir::Tensor*> inputs = {&tensor};
    for (size_t i = 1; i < node.inputs.size(); ++i)
      inputs.push_back(node.inputs[i].valid() ? model_->graph.constant(node.inputs[i]) : nullptr);
    QQ_TRY(std::vector<ir::Tensor> made, exec::evaluate_node(model_->graph, model_->opsets, id, inputs));
    if (made.empty()) return unsupported(model_->graph.label(id), ": is not computed");
    tensor = std::move(made[0]);
  }
  return tensor;
}

Status store_constant(ir::Model& model, ir::ValueId read, const ir::Tensor& tensor) {
  QQ_TRY(const ConstantChain chain, ConstantChain::to(model, read));
  ir::GraphEdit(model.graph).set_constant(chain.stored(), tensor);
  return Status();
}

}  // namespace quarkq::planning::finetune

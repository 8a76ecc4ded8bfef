// SPDX-License-Identifier: MIT
#include "ir/graph.h"

#include <algorithm>

#include "ir/tensor_store.h"

namespace quarkq::ir {

Graph::Graph() = default;
Graph::Graph(const Graph&) = default;
Graph::Graph(Graph&&) noexcept = default;
Graph& Graph::operator=(const Graph&) = default;
Graph& Graph::operator=(Graph&&) noexcept = default;
Graph::~Graph() = default;

std::vector<ValueId> Graph::required_inputs() const {
  std::vector<ValueId> required;
  for (const ValueId input : inputs_) {
    if (!value(input).is_initializer()) required.push_back(input);
  }
  return required;
}

ValueId Graph::find(std::string_view wanted) const {
  const auto found = by_name_.find(std::string(wanted));
  return found == by_name_.end() ? ValueId{} : found->second;
}

const Node* Graph::producer(ValueId id) const {
  if (!id.valid() || !value(id).producer.valid()) return nullptr;
  return &node(value(id).producer);
}

const Tensor* Graph::constant(ValueId id) const {
  if (!id.valid()) return nullptr;
  const Value& found = value(id);
  if (found.constant) return &*found.constant;
  const Node* maker = producer(id);
  // Only the tensor form has storage to point at; onnx_io::load turns the other forms of Constant into it.
  return maker != nullptr && maker->is("Constant") ? maker->get<Tensor>("value") : nullptr;
}

Tensor Graph::settled(Tensor data) const {
  return store_ == nullptr ? std::move(data) : store_->settle(std::move(data));
}

size_t Graph::use_count(ValueId id) const {
  return id.valid() ? value(id).uses.size() + (value(id).is_output ? 1 : 0) : 0;
}

std::optional<Use> Graph::sole_use(ValueId id) const {
  if (!id.valid()) return std::nullopt;
  const Value& found = value(id);
  if (found.is_output || found.uses.size() != 1 || found.uses[0].is_capture) return std::nullopt;
  return found.uses[0];
}

std::string Graph::label(NodeId id) const {
  const Node& found = node(id);
  const ValueId output = found.output(0);
  // The verifier labels nodes of broken graphs, too.
  const bool is_known = output.valid() && static_cast<size_t>(output.index) < value_count();
  return found.label(is_known ? value(output).name : std::string());
}

int64_t Model::opset(const std::string& domain) const {
  const auto found = opsets.find(domain);
  return found == opsets.end() ? 0 : found->second;
}

void Model::set_opset(const std::string& domain, int64_t version) {
  if (!opsets.contains(domain)) opset_order.push_back(domain);
  opsets[domain] = version;
}

}  // namespace quarkq::ir

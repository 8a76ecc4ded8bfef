// SPDX-License-Identifier: MIT
#include "pipeline/inspect_types.h"

#include <algorithm>

#include "ir/quantizing_ops.h"
#include "plan/block_name.h"

namespace quarkq::pipeline {
namespace {

using Part = ir::QuantizingPart;

constexpr const char* kWithWeights[] = {
    "MatMul", "Conv", "ConvTranspose", "Gemm", "LayerNormalization", "EmbedLayerNormalization", "InstanceNormalization",
    "PRelu"};

bool has_weights(const ir::Node& node) {
  return std::any_of(std::begin(kWithWeights), std::end(kWithWeights), [&](const char* op) { return node.op == op; });
}

/// The type that the node before input `index` leaves in it; empty when that is not a quantizing node.
std::string type_before(const ir::Graph& graph, const ir::Node& node, size_t index) {
  const ir::ValueId value = node.input(index);
  const ir::Node* before = value.valid() ? graph.producer(value) : nullptr;
  const Part part = ir::quantizing_part(before);
  if (part == Part::kBoth) return plan::block_name(before->op, before->attributes);
  if (part != Part::kDequantize) return "";
  const ir::Tensor* zero_point = before->input(2).valid() ? graph.constant(before->input(2)) : nullptr;
  if (zero_point != nullptr) return std::string(name(zero_point->type()));
  const ElementType codes = graph.value(before->input(0)).type.element;
  return codes == ElementType::kUndefined ? "" : std::string(name(codes));
}

}  // namespace

std::vector<NodeTypes> node_types(const ir::Graph& graph) {
  std::vector<NodeTypes> rows;
  for (const ir::NodeId id : graph.order()) {
    const ir::Node& node = graph.node(id);
    if (ir::quantizing_part(&node) != Part::kNone) continue;
    const std::string first = type_before(graph, node, 0), second = type_before(graph, node, 1);
    if (first.empty() && second.empty()) continue;
    const bool weighted = has_weights(node);
    NodeTypes row{node.name, node.op, first, weighted ? second : "", weighted ? type_before(graph, node, 2) : ""};
    rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<OperatorTypes> types_by_operator(const std::vector<NodeTypes>& nodes) {
  std::vector<OperatorTypes> rows;
  const auto count = [](const std::string& type, std::map<std::string, int>& types) {
    if (!type.empty()) ++types[type];
  };
  for (const NodeTypes& node : nodes) {
    auto row = std::ranges::find(rows, node.op, &OperatorTypes::op);
    if (row == rows.end()) row = rows.insert(rows.end(), OperatorTypes{node.op, {}, {}, {}});
    count(node.activation, row->activation);
    count(node.weights, row->weights);
    count(node.bias, row->bias);
  }
  return rows;
}

}  // namespace quarkq::pipeline

// SPDX-License-Identifier: MIT
#include "pipeline/report/inspect_quantized.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "ir/quantizing_ops.h"
#include "plan/stage.h"

namespace quarkq::pipeline {
namespace {

using Part = ir::QuantizingPart;

/// The tensor that `node` quantizes, seen from its real side: what Q reads, what DQ reads when no Q is before it, the
/// stored weights of a product. Nothing for a DQ that belongs to a Q.
std::optional<ir::ValueId> quantized_tensor(const ir::Graph& graph, const ir::Node& node) {
  const ir::QuantizingOp* op = ir::find_quantizing_op(node.op);
  const ir::ValueId value = op != nullptr ? node.input(op->inputs.values) : ir::ValueId();
  if (!value.valid()) return std::nullopt;
  if (op->part == Part::kDequantize && quantizing_part(graph.producer(value)) == Part::kQuantize) return std::nullopt;
  if (op->part == Part::kProduct && graph.constant(value) == nullptr) return std::nullopt;
  return value;
}

/// The tensor before the quantizing nodes that lead to `value`, which may be itself.
ir::ValueId real_side(const ir::Graph& graph, ir::ValueId value) {
  constexpr int kLongestChain = 2;  // a DQ and its Q
  for (int i = 0; i < kLongestChain && value.valid(); ++i) {
    const ir::Node* before = graph.producer(value);
    const Part part = ir::quantizing_part(before);
    if (part == Part::kNone || part == Part::kProduct) break;
    value = before->input(ir::find_quantizing_op(before->op)->inputs.values);
  }
  return value;
}

std::string type_of_codes(const ir::Graph& graph, const ir::Node& node) {
  const ir::QuantizingOp& op = *ir::find_quantizing_op(node.op);
  if (op.part == Part::kBoth) return plan::block_name(node.op, node.attributes);
  if (node.op == "MatMulNBits" || node.op == "GatherBlockQuantized")
    return cat("UINT", node.int_or("bits", 4));  // packed into bytes
  const ir::ValueId zero_point = node.input(op.inputs.zero_point);
  if (zero_point.valid()) {
    const ir::Tensor* zero = graph.constant(zero_point);
    const ElementType type = zero != nullptr ? zero->type() : graph.value(zero_point).type.element;
    if (type != ElementType::kUndefined) return std::string(name(type));
  }
  if (op.part != Part::kQuantize) {
    const ir::ValueId values = node.input(op.inputs.values);
    const ir::Tensor* codes = graph.constant(values);
    return std::string(name(codes != nullptr ? codes->type() : graph.value(values).type.element));
  }
  const auto asked = element_type_from_wire(static_cast<int32_t>(node.int_or("output_dtype", 0)));
  return std::string(name(asked.value_or(ElementType::kUInt8)));  // the operator's default
}

/// Returns the number of integers along an axis that share a scale, or 0 without blocks and for block formats.
int64_t block_of(const ir::Node& node) {
  constexpr int64_t kDefaultOfTables = 128;  // Default of GatherBlockQuantized.
  if (ir::quantizing_part(&node) == Part::kBoth) return 0;
  return node.int_or("block_size", node.op == "GatherBlockQuantized" ? kDefaultOfTables : 0);
}

std::vector<double> constant_values(const ir::Graph& graph, ir::ValueId value) {
  const ir::Tensor* tensor = value.valid() ? graph.constant(value) : nullptr;
  if (tensor == nullptr) return {};
  Result<std::vector<double>> values = ir::to_double(*tensor);
  return values.ok() ? std::move(values).value() : std::vector<double>();
}

void add_scales(const std::vector<double>& scales, QuantizedGroup& group) {
  if (scales.empty()) return;
  ++group.with_scale;
  if (scales.size() > 1 && group.block == 0) ++group.per_channel;
  const bool is_first = group.power_of_two == 0;
  int low = group.min_position, high = group.max_position;
  for (size_t i = 0; i < scales.size(); ++i) {
    const std::optional<int> position = position_of(scales[i]);
    if (!position) return;
    const bool is_only = is_first && i == 0;
    low = is_only ? *position : std::min(low, *position);
    high = is_only ? *position : std::max(high, *position);
  }
  ++group.power_of_two;
  group.min_position = low;
  group.max_position = high;
}

}  // namespace

std::vector<QuantizedTensor> list_quantized(const ir::Graph& graph) {
  std::vector<QuantizedTensor> tensors;
  std::set<ir::ValueId> seen;
  for (const ir::NodeId id : graph.order()) {
    const ir::Node& node = graph.node(id);
    const std::optional<ir::ValueId> value = quantized_tensor(graph, node);
    if (!value || !seen.insert(*value).second) continue;
    QuantizedTensor tensor;
    tensor.name = graph.value(*value).name;
    tensor.kind = graph.constant(*value) != nullptr ? "stored" : "activation";
    tensor.type = type_of_codes(graph, node);
    tensor.block = block_of(node);
    const ir::QuantizingOp& op = *ir::find_quantizing_op(node.op);
    tensor.scales = constant_values(graph, node.input(op.inputs.scale));
    tensor.zero_points = constant_values(graph, node.input(op.inputs.zero_point));
    if (tensor.scales.size() > 1) tensor.axis = node.int_or("axis", op.inputs.axis);
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

std::vector<QuantizedGroup> group_quantized(const std::vector<QuantizedTensor>& tensors) {
  std::map<std::tuple<std::string, std::string, int64_t>, QuantizedGroup> groups;
  for (const QuantizedTensor& tensor : tensors) {
    QuantizedGroup& group = groups[{tensor.kind, tensor.type, tensor.block}];
    group.block = tensor.block;
    ++group.tensors;
    add_scales(tensor.scales, group);
  }
  std::vector<QuantizedGroup> sorted;
  for (auto& [key, group] : groups) {
    group.kind = std::get<0>(key);
    group.type = std::get<1>(key);
    sorted.push_back(std::move(group));
  }
  return sorted;
}

std::vector<NodeFormats> node_formats(const ir::Graph& graph) {
  std::map<std::string, QuantizedTensor> known;
  for (QuantizedTensor& tensor : list_quantized(graph)) known.emplace(tensor.name, tensor);
  const auto add = [&](ir::ValueId value, std::vector<QuantizedTensor>& list) {
    const auto found = known.find(value.valid() ? graph.value(value).name : "");
    if (found != known.end()) list.push_back(found->second);
  };
  std::vector<NodeFormats> rows;
  for (const ir::NodeId id : graph.order()) {
    const ir::Node& node = graph.node(id);
    const Part part = ir::quantizing_part(&node);
    if (part != Part::kNone && part != Part::kProduct) continue;
    NodeFormats row{node.name, node.op, {}, {}};
    for (const ir::ValueId input : node.inputs) add(real_side(graph, input), row.inputs);
    for (const ir::ValueId output : node.outputs) add(output, row.outputs);
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace quarkq::pipeline

namespace quarkq {

std::optional<int> position_of(double scale) {
  int exponent = 0;
  if (!(scale > 0) || std::frexp(scale, &exponent) != 0.5) return std::nullopt;  // frexp: [0.5, 1) * 2^exponent
  return 1 - exponent;
}

}  // namespace quarkq

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

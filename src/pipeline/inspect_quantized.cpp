// SPDX-License-Identifier: MIT
#include "pipeline/inspect_quantized.h"

#include <cmath>
#include <map>
#include <optional>
#include <set>

namespace quarkq::pipeline {
namespace {

enum class Part { kNone, kQuantize, kDequantize, kBoth };

/// By operator name alone: com.microsoft and the custom domains use the same names.
Part part_of(const ir::Node& node) {
  static const std::pair<const char*, Part> kParts[] = {
      {"QuantizeLinear", Part::kQuantize},         {"DequantizeLinear", Part::kDequantize},
      {"ExtendedQuantizeLinear", Part::kQuantize}, {"ExtendedDequantizeLinear", Part::kDequantize},
      {"BFPQuantizeDequantize", Part::kBoth},      {"MXQuantizeDequantize", Part::kBoth},
  };
  for (const auto& [op, part] : kParts) {
    if (node.op == op) return part;
  }
  return Part::kNone;
}

Part part_of(const ir::Node* node) { return node == nullptr ? Part::kNone : part_of(*node); }

/// The tensor that `node` quantizes, seen from its real side: what Q reads, what DQ reads when no Q is before it.
/// Nothing for a DQ that belongs to a Q.
std::optional<ir::ValueId> quantized_tensor(const ir::Graph& graph, const ir::Node& node) {
  const Part part = part_of(node);
  if (part == Part::kNone || !node.input(0).valid()) return std::nullopt;
  if (part == Part::kDequantize && part_of(graph.producer(node.input(0))) == Part::kQuantize) return std::nullopt;
  return node.input(0);
}

std::string type_of_codes(const ir::Graph& graph, const ir::Node& node) {
  if (part_of(node) == Part::kBoth) return node.op;
  const ir::ValueId zero_point = node.input(2);
  if (zero_point.valid()) {
    const ir::Tensor* zero = graph.constant(zero_point);
    const ElementType type = zero != nullptr ? zero->type() : graph.value(zero_point).type.element;
    if (type != ElementType::kUndefined) return std::string(name(type));
  }
  if (part_of(node) == Part::kDequantize) {
    const ir::Tensor* codes = graph.constant(node.input(0));
    return std::string(name(codes != nullptr ? codes->type() : graph.value(node.input(0)).type.element));
  }
  const auto asked = element_type_from_wire(static_cast<int32_t>(node.int_or("output_dtype", 0)));
  return std::string(name(asked.value_or(ElementType::kUInt8)));  // the operator's default
}

/// Positions of the scales, the smallest and the largest; nothing when one of them is no power of two.
std::optional<std::pair<int, int>> positions(const std::vector<double>& scales) {
  std::optional<std::pair<int, int>> found;
  for (const double scale : scales) {
    int exponent = 0;
    if (!(scale > 0) || std::frexp(scale, &exponent) != 0.5) return std::nullopt;  // frexp: [0.5, 1) * 2^exponent
    const int position = 1 - exponent;
    if (!found) found = {position, position};
    found = {std::min(found->first, position), std::max(found->second, position)};
  }
  return found;
}

void add_scales(const ir::Tensor* tensor, QuantizedGroup& group) {
  if (tensor == nullptr) return;
  const Result<std::vector<double>> scales = ir::to_double(*tensor);
  if (!scales.ok() || scales.value().empty()) return;
  ++group.with_scale;
  if (tensor->size() > 1) ++group.per_channel;
  const auto range = positions(scales.value());
  if (!range) return;
  group.min_position = group.power_of_two == 0 ? range->first : std::min(group.min_position, range->first);
  group.max_position = group.power_of_two == 0 ? range->second : std::max(group.max_position, range->second);
  ++group.power_of_two;
}

}  // namespace

bool is_quantizing(const ir::Node& node) { return part_of(node) != Part::kNone; }

std::vector<QuantizedGroup> find_quantized(const ir::Graph& graph) {
  std::map<std::pair<std::string, std::string>, QuantizedGroup> groups;
  std::set<ir::ValueId> seen;
  for (const ir::NodeId id : graph.order()) {
    const ir::Node& node = graph.node(id);
    const std::optional<ir::ValueId> tensor = quantized_tensor(graph, node);
    if (!tensor || !seen.insert(*tensor).second) continue;
    const std::string kind = graph.constant(*tensor) != nullptr ? "stored" : "activation";
    QuantizedGroup& group = groups[{kind, type_of_codes(graph, node)}];
    ++group.tensors;
    if (part_of(node) != Part::kBoth && node.input(1).valid()) add_scales(graph.constant(node.input(1)), group);
  }
  std::vector<QuantizedGroup> sorted;
  for (auto& [key, group] : groups) {
    group.kind = key.first;
    group.type = key.second;
    sorted.push_back(std::move(group));
  }
  return sorted;
}

}  // namespace quarkq::pipeline

// SPDX-License-Identifier: MIT
#include "targets/quantized_view.h"

#include <algorithm>
#include <cmath>

#include "ir/qdq_nodes.h"
#include "ir/search.h"
#include "ir/topo.h"

namespace quarkq::targets {
namespace {

NodeKind kind_of(const ir::Node& node) {
  if (node.is("Constant")) return NodeKind::kConstant;
  const ir::QuantizingPart part = ir::quantizing_part(&node);
  if (part == ir::QuantizingPart::kQuantize) return NodeKind::kQuantize;
  return part == ir::QuantizingPart::kDequantize ? NodeKind::kDequantize : NodeKind::kOperator;
}

bool is_pair_node(NodeKind kind) { return kind == NodeKind::kQuantize || kind == NodeKind::kDequantize; }

void add_parameters(QuantizedView& view, const ir::Node& node) {
  const ir::Graph& graph = view.graph();
  Parameters found{node.id, nullptr, nullptr, false, ElementType::kUndefined};
  if (node.input(1).valid()) found.scale = graph.constant(node.input(1));
  if (node.input(2).valid()) found.zero_point = graph.constant(node.input(2));
  if (found.scale == nullptr) return;
  found.is_stored = view.stored(node.input(0)) != nullptr;
  const bool is_dq = view.kind(node.id) == NodeKind::kDequantize;
  const ir::ValueId integers = is_dq ? node.input(0) : node.output(0);
  if (found.zero_point != nullptr) {
    found.type = found.zero_point->type();
  } else if (integers.valid()) {
    found.type = graph.value(integers).type.element;
  }
  view.parameters.push_back(found);
}

void link_operators(QuantizedView& view) {
  const ir::Graph& graph = view.graph();
  const auto link = [&](ir::ValueId value, ir::NodeId reader) {
    if (!value.valid()) return;
    const ir::Node* producer = graph.producer(view.before_pairs(value));
    if (producer == nullptr || view.kind(producer->id) != NodeKind::kOperator) return;
    auto& sources = view.sources[static_cast<size_t>(reader.index)];
    if (std::find(sources.begin(), sources.end(), producer->id) != sources.end()) return;
    sources.push_back(producer->id);
    view.readers[static_cast<size_t>(producer->id.index)].push_back(reader);
  };
  for (const ir::NodeId id : view.operators) {
    for (const ir::ValueId input : view.node(id).inputs) link(input, id);
    for (const ir::Capture& capture : view.node(id).captures) link(capture.outer, id);
  }
}

void mark_convs(QuantizedView& view) {
  const auto mark = [&](ir::NodeId id, const std::vector<ir::NodeId>& neighbours, std::vector<bool>& marks) {
    for (const ir::NodeId other : neighbours) {
      if (view.node(other).op == "Conv" || marks[static_cast<size_t>(other.index)])
        marks[static_cast<size_t>(id.index)] = true;
    }
  };
  for (const ir::NodeId id : view.operators) mark(id, view.sources_of(id), view.has_conv_before);
  for (auto id = view.operators.rbegin(); id != view.operators.rend(); ++id)
    mark(*id, view.readers_of(*id), view.has_conv_after);
}

}  // namespace

ir::ValueId QuantizedView::before_pairs(ir::ValueId value) const {
  for (const ir::Node* made_by = graph().producer(value); made_by != nullptr && is_pair_node(kind(made_by->id));
       made_by = graph().producer(value)) {
    if (!made_by->input(0).valid()) break;
    value = made_by->input(0);
  }
  return value;
}

const ir::Tensor* QuantizedView::stored(ir::ValueId value) const {
  return value.valid() ? graph().constant(before_pairs(value)) : nullptr;
}

bool QuantizedView::is_from_pair(ir::ValueId value) const {
  const ir::Node* made_by = value.valid() ? graph().producer(value) : nullptr;
  return made_by != nullptr && is_pair_node(kind(made_by->id));
}

std::string QuantizedView::op_of(ir::NodeId id) const { return ir::full_op_name(node(id)); }

Result<QuantizedView> view_of(const ir::Model& model) {
  QuantizedView view;
  view.model = &model;
  QQ_TRY(view.order, ir::execution_order(model.graph));
  const size_t nodes = model.graph.node_count();
  view.kinds.assign(nodes, NodeKind::kOperator);
  view.sources.resize(nodes);
  view.readers.resize(nodes);
  view.has_conv_before.assign(nodes, false);
  view.has_conv_after.assign(nodes, false);
  for (const ir::NodeId id : view.order) {
    const NodeKind kind = kind_of(view.node(id));
    view.kinds[static_cast<size_t>(id.index)] = kind;
    if (kind == NodeKind::kOperator) view.operators.push_back(id);
    if (!is_pair_node(kind)) continue;
    view.has_pairs = true;
    add_parameters(view, view.node(id));
  }
  link_operators(view);
  mark_convs(view);
  return view;
}

bool is_power_of_two(const ir::Tensor& scale) {
  const Result<std::vector<double>> values = ir::to_double(scale);
  return values.ok() && std::all_of(values.value().begin(), values.value().end(), [](double value) {
           int exponent = 0;
           return std::isfinite(value) && value > 0 && std::frexp(value, &exponent) == 0.5;
         });
}

std::string type_of_model(const QuantizedView& view) {
  if (!view.has_pairs) {
    const bool has_others = std::any_of(view.operators.begin(), view.operators.end(), [&](ir::NodeId id) {
      return ir::quantizing_part(&view.node(id)) != ir::QuantizingPart::kNone;
    });
    return has_others ? "other" : "float";
  }
  bool has_16 = false, has_others = view.parameters.empty(), has_float_scales = false;
  for (const Parameters& one : view.parameters) {
    const int width = bits(one.type);
    const bool is_bias = one.is_stored && width == 32;
    has_float_scales |= !is_bias && !is_power_of_two(*one.scale);
    has_16 |= !one.is_stored && width == 16;
    has_others |= !is_integer(one.type) || (width != 8 && width != 16 && !is_bias);
  }
  if (has_others) return "other";
  if (has_16) return "a16w8";
  return has_float_scales ? "a8w8" : "xint8";
}

}  // namespace quarkq::targets

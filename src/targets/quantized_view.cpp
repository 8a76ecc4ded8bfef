// SPDX-License-Identifier: MIT
#include "targets/quantized_view.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "ir/quantizing_ops.h"
#include "ir/traversal.h"

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

std::vector<bool> wide_operators(const QuantizedView& view) {
  std::vector<bool> is_wide(view.kinds.size(), false);
  for (const Parameters& one : view.parameters) {
    if (one.is_stored || bits(one.type) != 16) continue;
    const ir::Node& pair = view.node(one.node);
    if (view.kind(one.node) == NodeKind::kDequantize) {
      for (const ir::Use& use : view.graph().value(pair.output(0)).uses)
        is_wide[static_cast<size_t>(use.node.index)] = true;
    } else if (const ir::Node* producer = view.graph().producer(pair.input(0))) {
      is_wide[static_cast<size_t>(producer->id.index)] = true;
    }
  }
  return is_wide;
}

namespace {

/// Longer chains without Q/DQ are parts that were left float. The longest fused one is Conv, BatchNormalization,
/// HardSigmoid and the Mul that rescales it.
constexpr size_t kMostFused = 4;

class Joiner {
 public:
  explicit Joiner(size_t count) : parent_(count) { std::iota(parent_.begin(), parent_.end(), size_t{0}); }
  size_t root(size_t item) {
    while (parent_[item] != item) item = parent_[item] = parent_[parent_[item]];
    return item;
  }
  void join(size_t a, size_t b) { parent_[root(b)] = root(a); }

 private:
  std::vector<size_t> parent_;
};

bool is_float_value(const QuantizedView& view, ir::ValueId value) {
  if (!value.valid()) return false;
  const ElementType type = view.graph().value(value).type.element;
  return type == ElementType::kUndefined || is_floating(type);
}

bool computes_integers(const QuantizedView& view, const ir::Node& node) {
  const auto is_float = [&](ir::ValueId value) { return is_float_value(view, value); };
  const bool any_output = std::any_of(node.outputs.begin(), node.outputs.end(), is_float);
  const bool any_input = std::any_of(node.inputs.begin(), node.inputs.end(), is_float);
  return !any_output && (!any_input || node.is("Shape") || node.is("Size"));
}

bool is_fused_activation(const ir::Node& node) { return node.is("Relu") || node.is("Clip"); }

/// Whether two operators belong together because the float value between them has no Q/DQ.
bool are_joined(const QuantizedView& view, const ir::Node& reader, ir::ValueId input) {
  const ir::Node* producer = input.valid() ? view.graph().producer(input) : nullptr;
  if (producer == nullptr || view.kind(producer->id) != NodeKind::kOperator || !is_float_value(view, input))
    return false;
  return view.has_pairs || (is_fused_activation(reader) && view.graph().sole_use(input).has_value());
}

bool is_product(const ir::Node& node) {
  return node.is("Conv") || node.is("ConvTranspose") || node.is("Gemm") || node.is("MatMul");
}

/// Returns whether every float input comes from a DQ or is stored, and every float output is read only by Q.
bool is_quantized(const QuantizedView& view, const std::vector<ir::NodeId>& members) {
  const ir::Graph& graph = view.graph();
  const auto is_member = [&](ir::NodeId id) { return std::find(members.begin(), members.end(), id) != members.end(); };
  const auto products =
      std::count_if(members.begin(), members.end(), [&](ir::NodeId id) { return is_product(view.node(id)); });
  if (members.size() > kMostFused || products > 1) return false;
  for (const ir::NodeId id : members) {
    for (const ir::ValueId input : view.node(id).inputs) {
      if (!is_float_value(view, input) || view.is_from_pair(input) || graph.constant(input) != nullptr) continue;
      const ir::Node* producer = graph.producer(input);
      if (producer == nullptr || !is_member(producer->id)) return false;
    }
    for (const ir::ValueId output : view.node(id).outputs) {
      if (!is_float_value(view, output)) continue;
      if (graph.value(output).is_output) return false;
      for (const ir::Use& use : graph.value(output).uses) {
        if (use.is_capture || (view.kind(use.node) != NodeKind::kQuantize && !is_member(use.node))) return false;
      }
    }
  }
  return true;
}

}  // namespace

Groups group_operators(const QuantizedView& view, bool as_if_quantized) {
  const size_t nodes = view.kinds.size();
  Groups groups{std::vector<int>(nodes, -1), {}, std::vector<bool>(nodes, false), std::vector<bool>(nodes, false)};
  Joiner joiner(nodes);
  for (const ir::NodeId id : view.operators) {
    const ir::Node& node = view.node(id);
    groups.is_integer[static_cast<size_t>(id.index)] = computes_integers(view, node);
    if (!view.has_pairs && !as_if_quantized) continue;
    for (const ir::ValueId input : node.inputs) {
      if (are_joined(view, node, input))
        joiner.join(static_cast<size_t>(view.graph().producer(input)->id.index), static_cast<size_t>(id.index));
    }
  }
  std::vector<std::vector<ir::NodeId>> joined(nodes);
  for (const ir::NodeId id : view.operators) joined[joiner.root(static_cast<size_t>(id.index))].push_back(id);
  const auto add = [&](std::vector<ir::NodeId> members) {
    for (const ir::NodeId id : members)
      groups.of[static_cast<size_t>(id.index)] = static_cast<int>(groups.members.size());
    groups.members.push_back(std::move(members));
  };
  for (std::vector<ir::NodeId>& members : joined) {
    if (members.empty()) continue;
    if (!view.has_pairs || is_quantized(view, members)) {
      add(std::move(members));
      continue;
    }
    for (const ir::NodeId id : members) {
      groups.is_float[static_cast<size_t>(id.index)] = !groups.integer(id);
      add({id});
    }
  }
  return groups;
}

}  // namespace quarkq::targets

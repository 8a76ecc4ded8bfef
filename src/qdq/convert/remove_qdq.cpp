// SPDX-License-Identifier: MIT
// Q/DQ pairs that go, with their rounding: all of them, or those between operators that run as one.
#include <map>

#include "ir/quantizing_ops.h"
#include "plan/lowering/lower.h"
#include "qdq/convert/conversions.h"
#include "qdq/pairs.h"

namespace quarkq::qdq {

namespace {

bool has_type_of(const ir::Graph& graph, ir::ValueId a, ir::ValueId b) {
  const ElementType x = graph.value(a).type.element, y = graph.value(b).type.element;
  return x == y || x == ElementType::kUndefined || y == ElementType::kUndefined;
}

/// Operators between which no pair stays.
struct Between {
  std::string upper, lower;
};

Result<std::vector<Between>> read_pairs(const pass::ConversionOptions& options) {
  QQ_TRY(const std::vector<std::string> texts, options.list("pairs"));
  std::vector<Between> pairs;
  for (const std::string& text : texts) {
    QQ_TRY(const std::vector<std::string> ops, pass::list_parts(text));
    if (ops.size() != 2) return invalid_argument("option pairs: found ", text, ", allowed is [[Conv,Relu],[Mul,Add]]");
    pairs.push_back({ops[0], ops[1]});
  }
  return pairs;
}

/// Removes the pair before input `input` of the node where the operator before it is `upper`. False where there is
/// none, or where it is left, with the reason.
bool remove_between(pass::ConvertContext& context, ir::NodeId lower, size_t input, const std::string& upper) {
  ir::Graph& graph = context.graph();
  const ir::Node* dq = ir::source_of(graph, graph.node(lower), input);
  const ir::Node* q = dq != nullptr && dequantizes(*dq) ? quantizer_of(graph, *dq) : nullptr;
  const ir::Node* producer = q != nullptr ? ir::source_of(graph, *q, 0) : nullptr;
  if (producer == nullptr || producer->op != upper) return false;
  const std::optional<PairRange> range = range_of(graph, *q);
  if (range && may_clamp(graph, q->input(0), *range)) {
    context.leave(lower, cat("the range of the pair before its input ", input, " begins at 0, it may replace a Relu"));
    return false;
  }
  if (!graph.sole_use(dq->output(0)) || !graph.sole_use(q->output(0))) {
    context.leave(lower, cat("the pair before its input ", input, " has other readers"));
    return false;
  }
  bypass(graph, dq->id, q->input(0));
  return true;
}

}  // namespace

Result<size_t> remove_qdq(pass::ConvertContext& context) {
  ir::Graph& graph = context.graph();
  size_t removed = 0;
  std::map<ir::ValueId, PairRange> ranges;  // that may have been clamps, by the value they were on
  for (const ir::NodeId id : std::vector<ir::NodeId>(graph.order())) {
    const ir::Node& dq = graph.node(id);
    const ir::Node* q = dequantizes(dq) && dq.output(0).valid() ? quantizer_of(graph, dq) : nullptr;
    if (q == nullptr || !q->input(0).valid()) continue;
    if (!has_type_of(graph, q->input(0), dq.output(0))) {
      context.leave(id, "it makes another float type than its QuantizeLinear reads");
      continue;
    }
    if (const auto range = range_of(graph, *q)) ranges.emplace(q->input(0), *range);
    bypass(graph, id, q->input(0));
    ++removed;
  }
  remove_unread_quantizers(graph);
  for (const auto& [value, range] : ranges) restore_clamp(context.model, value, range);
  return removed;
}

Result<size_t> remove_qdq_between(pass::ConvertContext& context) {
  QQ_TRY(const std::vector<Between> pairs, read_pairs(context.options));
  ir::Graph& graph = context.graph();
  size_t removed = 0;
  for (const Between& pair : pairs) {
    for (const ir::NodeId id : std::vector<ir::NodeId>(graph.order())) {
      if (!graph.is_alive(id) || graph.node(id).op != pair.lower) continue;
      for (size_t i = 0; i < graph.node(id).inputs.size(); ++i)
        removed += remove_between(context, id, i, pair.upper) ? 1 : 0;
    }
  }
  remove_unread_quantizers(graph);
  return removed;
}

// The float model that a quantized one stands for: pairs and block formats go, stored integers become floats.

namespace {

/// The DQ's output becomes the constant that it makes.
Status store_as_float(ir::Model& model, const ir::Node& dq) {
  ir::Graph& graph = model.graph;
  QQ_TRY(ir::Tensor values, dequantized(model, dq));
  if (graph.value(dq.output(0)).is_output)
    return unsupported(graph.label(dq.id), ": its constant is an output of the graph, which has to be computed");
  ir::GraphEdit edit(graph);
  edit.remove_node(dq.id);
  edit.set_constant(dq.output(0), std::move(values));
  return Status();
}

/// "w_quantized" stands for "w".
void take_float_name(ir::GraphEdit& edit, ir::ValueId value, const std::string& stored) {
  const std::string suffix = plan::stored_name("");
  if (stored.ends_with(suffix)) edit.rename(value, stored.substr(0, stored.size() - suffix.size()));
}

/// Fails on a remaining quantizing node, which has no float counterpart.
Status check_is_float(const ir::Graph& graph) {
  for (const ir::NodeId id : graph.order()) {
    const ir::QuantizingPart part = ir::quantizing_part(graph.node(id).op);
    if (part == ir::QuantizingPart::kNone) continue;
    if (part == ir::QuantizingPart::kProduct)
      return unsupported(graph.label(id), ": computes with integers, only Q/DQ and block formats can be made float");
    return unsupported(graph.label(id), ": is not part of a pair, its integers are fed, read or computed elsewhere");
  }
  return Status();
}

}  // namespace

Result<size_t> dequantize(pass::ConvertContext& context) {
  ir::Graph& graph = context.graph();
  QQ_TRY(size_t changes, remove_qdq(context));
  std::vector<std::pair<ir::ValueId, std::string>> stored;  // constants, and the names of their integers
  for (const ir::NodeId id : std::vector<ir::NodeId>(graph.order())) {
    if (!graph.is_alive(id)) continue;
    const ir::Node node = graph.node(id);
    const bool is_stored = node.input(0).valid() && graph.constant(node.input(0)) != nullptr;
    if (dequantizes(node) && is_stored && node.output(0).valid()) {
      QQ_RETURN_IF_ERROR(store_as_float(context.model, node));
      stored.emplace_back(node.output(0), graph.value(node.input(0)).name);
      ++changes;
    } else if (ir::quantizing_part(node.op) == ir::QuantizingPart::kBoth && node.output(0).valid()) {
      bypass(graph, id, node.input(0));
      ++changes;
    }
  }
  QQ_RETURN_IF_ERROR(check_is_float(graph));
  ir::GraphEdit edit(graph);
  edit.remove_unused_initializers();  // so that their names are free
  for (const auto& [value, name] : stored) take_float_name(edit, value, name);
  return changes;
}

}  // namespace quarkq::qdq

// SPDX-License-Identifier: MIT
// Q/DQ pairs that go, with their rounding: all of them, or those between operators that run as one.
#include <map>

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

}  // namespace quarkq::qdq

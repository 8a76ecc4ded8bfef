// SPDX-License-Identifier: MIT
// RemoveQDQMulAdd and RemoveQDQBetweenOps (spec 02 A.8): pairs between two kinds of operators go.
#include "ir/edit.h"
#include "passes/finish/qdq_nodes.h"
#include "passes/passes.h"
#include "passes/tidy_up.h"

namespace quarkq::passes {
namespace {

struct OpPair {
  std::string upper, lower;
};

Result<std::vector<OpPair>> read_pairs(const config::List& option) {
  std::vector<OpPair> pairs;
  for (const config::Node& item : option.node.items()) {
    const config::Node::List& types = item.items();
    if (types.size() != 2 || !types[0].is_text() || !types[1].is_text())
      return invalid_argument(item.mark().prefix(),
                              "RemoveQDQBetweenOps: each item is a pair of op types such as [Conv, Relu]");
    pairs.push_back({types[0].as_text(), types[1].as_text()});
  }
  return pairs;
}

/// The value before the Q/DQ pair at input `i` of `lower`; invalid when there is no such pair that may go.
ir::ValueId value_before_pair(const ir::Graph& graph, const ir::Node& lower, size_t i, const std::string& upper) {
  const ir::Node* dq = source_of(graph, lower, i);
  if (dq == nullptr || !is_standard_dq(*dq) || !graph.sole_use(dq->output(0))) return {};
  const ir::Node* q = source_of(graph, *dq, 0);
  // A Q with other readers would be left without its DQ.
  if (q == nullptr || !is_standard_q(*q) || !graph.sole_use(q->output(0))) return {};
  const ir::Node* source = source_of(graph, *q, 0);
  return source != nullptr && source->op == upper ? q->input(0) : ir::ValueId{};
}

Changed remove_between(ir::Graph& graph, const OpPair& pair) {
  ir::GraphEdit edit(graph);
  Changed changed = Changed::kNo;
  for (const ir::NodeId id : std::vector<ir::NodeId>(graph.order())) {
    if (!graph.is_alive(id) || graph.node(id).op != pair.lower) continue;
    for (size_t i = 0; i < graph.node(id).inputs.size(); ++i) {
      const ir::ValueId before = value_before_pair(graph, graph.node(id), i, pair.upper);
      if (!before.valid()) continue;
      const ir::Node dq = *graph.producer(graph.node(id).input(i));
      const ir::Node q = *graph.producer(dq.input(0));
      edit.set_input(id, i, before);
      for (const ir::Node* node : {&dq, &q}) {
        edit.remove_node(node->id);
        edit.remove_value(node->output(0));
      }
      changed = Changed::kYes;
    }
  }
  return changed;
}

Result<Changed> remove_all(PassContext& context, const std::vector<OpPair>& pairs) {
  Changed changed = Changed::kNo;
  for (const OpPair& pair : pairs) {
    if (remove_between(context.graph(), pair) == Changed::kYes) changed = Changed::kYes;
  }
  return tidy_up(context, changed);
}

}  // namespace

Result<Changed> remove_qdq_between(PassContext& context) {
  QQ_TRY(const std::vector<OpPair> pairs, read_pairs(context.settings.remove_qdq_between_ops));
  Changed changed = Changed::kNo;
  if (context.settings.remove_qdq_mul_add) {
    QQ_TRY(changed, remove_all(context, {{"Mul", "Add"}}));
  }
  if (pairs.empty()) return changed;
  QQ_TRY(const Changed more, remove_all(context, pairs));
  return more == Changed::kYes ? more : changed;
}

}  // namespace quarkq::passes

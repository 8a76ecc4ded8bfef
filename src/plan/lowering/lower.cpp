// SPDX-License-Identifier: MIT
// Pairs of activations and stored constants in marking order, then tensors that share a scale, then int32 biases, then
// second stages (ref:writing#pairs); then the node order of ref:writing#node-order; then the pairs that are not wanted
// are removed.
#include "plan/lowering/lower.h"

#include "ir/traversal.h"
#include "plan/lowering/qdq_writer.h"

namespace quarkq::plan {
namespace {

Status tidy(ir::Graph& graph) {
  QQ_RETURN_IF_ERROR(ir::sort_topologically(graph).status());
  ir::GraphEdit(graph).remove_unused_initializers();
  return Status();
}

}  // namespace

Result<ir::Graph> lower(const ir::Graph& graph, const QuantPlan& plan, QdqForm form) {
  ir::Graph lowered = graph;  // shares the weights
  QdqWriter writer(lowered, plan, form);
  writer.replace_constants();
  writer.write_tensors();
  writer.write_sharing();
  writer.write_biases();
  QQ_RETURN_IF_ERROR(writer.write_extras());
  QQ_RETURN_IF_ERROR(tidy(lowered));
  if (plan.raw_reads.empty()) return lowered;
  writer.remove_raw_pairs();
  QQ_RETURN_IF_ERROR(tidy(lowered));
  return lowered;
}

Result<std::vector<ir::NodeId>> written_order(const ir::Graph& graph, const QuantPlan& plan) {
  QQ_TRY(const ir::Graph lowered, lower(graph, plan, QdqForm::kWritten));
  std::vector<ir::NodeId> order;
  for (const ir::NodeId id : lowered.order()) {
    if (static_cast<size_t>(id.index) < graph.node_count()) order.push_back(id);
  }
  return order;
}

}  // namespace quarkq::plan

// SPDX-License-Identifier: MIT
// The lowered graph takes the float graph's place (plan/lowering/lower.h).
#include <algorithm>

#include "ir/quantizing_ops.h"
#include "plan/lowering/lower.h"
#include "qdq/passes.h"

namespace quarkq::qdq {
namespace {

bool is_stage(const ir::Node& node) {
  const ir::QuantizingPart part = ir::quantizing_part(node.op);
  return part != ir::QuantizingPart::kNone && part != ir::QuantizingPart::kProduct;
}

/// The value's readers read what its stage makes; a bias is what its DQ makes.
bool is_written(const ir::Graph& graph, const plan::QuantSlot& slot) {
  if (slot.state == plan::SlotState::kAbsorbed || !graph.is_alive(slot.value)) return true;
  const ir::Value& value = graph.value(slot.value);
  if (slot.role == plan::Role::kBias) return !value.is_initializer();
  return std::all_of(value.uses.begin(), value.uses.end(),
                     [&](const ir::Use& use) { return use.is_capture || is_stage(graph.node(use.node)); });
}

/// The graph is a result of lower() already.
bool is_written(const ir::Graph& graph, const plan::QuantPlan& plan) {
  return std::all_of(plan.slots().begin(), plan.slots().end(),
                     [&](const plan::QuantSlot& slot) { return is_written(graph, slot); });
}

}  // namespace

Result<Changed> write_qdq(pass::QdqContext& context) {
  if (context.plan.slots().empty() || is_written(context.graph(), context.plan)) return Changed::kNo;
  for (const char* domain : {ir::kMicrosoftDomain, ir::kQuarkDomain})
    context.model.set_opset(domain, 1);  // used or not: ref:writing#domains
  QQ_TRY(context.model.graph, plan::lower(context.graph(), context.plan, plan::QdqForm::kWritten));
  return Changed::kYes;
}

}  // namespace quarkq::qdq

// SPDX-License-Identifier: MIT
// RemoveQDQMulAdd and RemoveQDQBetweenOps (ref:writing#post-processing): no pair where one kind of operator alone reads
// another's result. Decided on the plan: the read becomes a raw one, and its pair is not written.
#include <algorithm>

#include "config/format_settings.h"
#include "planning/passes.h"

namespace quarkq::planning {
namespace {

class PairRemover {
 public:
  explicit PairRemover(pass::PlanContext& context) : graph_(context.graph()), plan_(context.plan) {}

  void remove_between(const config::OpTypePair& pair) {
    for (const ir::NodeId id : graph_.order()) {
      const ir::Node& lower = graph_.node(id);
      if (lower.op != pair.lower) continue;
      for (size_t i = 0; i < lower.inputs.size(); ++i) {
        const ir::Use read{id, static_cast<int32_t>(i), false};
        const ir::Node* upper = lower.inputs[i].valid() ? graph_.producer(lower.inputs[i]) : nullptr;
        const bool wanted = upper != nullptr && upper->op == pair.upper && !is_raw(read) && has_own_pair(read);
        if (!wanted) continue;
        plan_.raw_reads.push_back(read);
        plan_.decisions.push_back({lower.inputs[i], plan::DecisionKind::kPairNotWritten, id});
      }
    }
  }

 private:
  bool is_raw(const ir::Use& read) const {
    return std::find(plan_.raw_reads.begin(), plan_.raw_reads.end(), read) != plan_.raw_reads.end();
  }

  /// A pair of standard operators that nothing else reads, and no second stage around it.
  bool has_own_pair(const ir::Use& read) const {
    const ir::ValueId value = graph_.node(read.node).inputs[static_cast<size_t>(read.input)];
    const plan::QuantSlot* slot = plan_.find(value);
    if (slot == nullptr || slot->state == plan::SlotState::kAbsorbed) return false;
    if (slot->stage.kind != plan::StageKind::kPair || !plan_.operators.is_standard(slot->stage)) return false;
    const bool has_second = std::any_of(plan_.extras.begin(), plan_.extras.end(), [&](const plan::ExtraStage& extra) {
      return extra.value == value && (extra.is_after || (extra.node == read.node && extra.index == read.input));
    });
    if (has_second) return false;
    return plan_.has_dedicated_pairs(value) ? reads_once(read.node, value) : graph_.sole_use(value).has_value();
  }

  /// One pair serves all inputs of a node that read the value.
  bool reads_once(ir::NodeId node, ir::ValueId value) const {
    const auto& inputs = graph_.node(node).inputs;
    return plan_.pair_per_input || std::count(inputs.begin(), inputs.end(), value) == 1;
  }

  const ir::Graph& graph_;
  plan::QuantPlan& plan_;
};

}  // namespace

Result<Changed> remove_pairs_between(pass::PlanContext& context) {
  QQ_TRY(const std::vector<config::OpTypePair> pairs, config::read_pairs_to_remove(context.settings));
  PairRemover remover(context);
  const size_t before = context.plan.raw_reads.size();
  for (const config::OpTypePair& pair : pairs) remover.remove_between(pair);
  return context.plan.raw_reads.size() == before ? Changed::kNo : Changed::kYes;
}

}  // namespace quarkq::planning

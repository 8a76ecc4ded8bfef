// SPDX-License-Identifier: MIT
#include "planning/constrain/refine_positions.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "ir/constants.h"
#include "numeric/encode.h"
#include "pass/context.h"
#include "plan/constant_codes.h"
#include "planning/passes.h"

namespace quarkq::planning {
namespace {

// Stored integers are updated when their parameters change.

/// Encodes the constants whose parameters are among `changed` again from their float values.
Status reencode_constants(pass::PlanContext& context, const std::set<plan::ParamId>& changed) {
  for (plan::QuantSlot& slot : context.plan.slots()) {
    const plan::Stage& stage = slot.stage;
    const auto& constant = context.graph().value(slot.value).constant;
    if (!slot.codes || !constant || !changed.contains(stage.params) || !is_integer(stage.spec.type)) continue;
    QQ_TRY(const ir::FloatView values, ir::FloatView::of(*constant));
    slot.codes = context.graph().settled(plan::encode_constant(values, constant->dims(), stage.spec,
                                                               context.plan.params[stage.params],
                                                               plan::stored_limits(context.settings, slot)));
  }
  return Status();
}

/// The reference leaves stored integers when their scale moves, which multiplies the weight by a power of two.
bool keeps_codes(const config::Settings& settings) { return !settings.quirk(config::Quirk::kReencodeMovedConstants); }

std::string allowed(const PositionMove& move) {
  return move.low == move.high ? cat(move.low) : cat(move.low, " to ", move.high);
}

/// The nodes that moved positions in the last round, which want different ones.
std::string last_moved(const ir::Graph& graph, const Refinement& refinement) {
  constexpr size_t kShown = 4;
  std::vector<std::string> names;
  for (const PositionMove& move : refinement.moves) {
    if (move.loop != refinement.loops) continue;
    std::string name = cat(graph.node(move.node).op, " ", graph.label(move.node));
    if (std::ranges::find(names, name) == names.end()) names.push_back(std::move(name));
  }
  const size_t count = names.size();
  names.resize(std::min(count, kShown));
  return cat(join(names, ", "), count > kShown ? cat(" and ", count - kShown, " more") : "");
}

void report(pass::PlanContext& context, const Refinement& refinement) {
  for (const PositionMove& move : refinement.moves) {
    const bool is_stored = context.graph().value(move.position.value).is_initializer();
    const std::string tensor = context.graph().value(move.position.value).name;
    context.diagnostics.add(
        "position-changed", is_stored ? tensor : context.graph().label(move.node),
        cat(is_stored ? "" : cat("tensor ", tensor, ": "), "scale 2^", -move.position.at, " becomes 2^", -move.to,
            " (the NPU needs ", move.measure, " ", allowed(move), ", found ", move.found, ")"));
  }
  if (!refinement.is_settled) {
    context.diagnostics.add("positions-not-settled", "MaxLoopNum",
                            cat("positions did not converge within MaxLoopNum=", refinement.loops,
                                " rounds; NPU limits may be violated at ", last_moved(context.graph(), refinement)));
  }
}

}  // namespace

Refinement refine(const ir::Graph& graph, plan::QuantPlan& plan, const config::Settings& settings) {
  Positions positions(graph, plan, settings);
  Sweep sweep(positions, Sweep::Mode::kMove);
  Refinement result;
  for (bool again = true; again && result.loops < settings.npu.max_loop_num;) {
    ++result.loops;
    again = false;
    for (const PositionRule& rule : position_rules()) {
      if (settings.npu.*rule.is_enabled && sweep.run(rule, result.loops)) again = true;
    }
    result.is_settled = !again;
  }
  result.moves = sweep.moves();
  return result;
}

Result<Changed> refine_positions(pass::PlanContext& context) {
  const Refinement refinement = refine(context.graph(), context.plan, context.settings);
  report(context, refinement);
  if (refinement.moves.empty()) return Changed::kNo;
  std::set<plan::ParamId> changed;
  for (const PositionMove& move : refinement.moves) changed.insert(move.position.params);
  if (!keeps_codes(context.settings)) QQ_RETURN_IF_ERROR(reencode_constants(context, changed));
  return Changed::kYes;
}

}  // namespace quarkq::planning

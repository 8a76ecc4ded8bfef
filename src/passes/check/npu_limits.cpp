// SPDX-License-Identifier: MIT
#include "passes/check/npu_limits.h"

#include <algorithm>
#include <cmath>

#include "passes/adjust/position_rules.h"

namespace quarkq::passes {
namespace {

bool is_power_of_two(float scale) {
  int exponent = 0;
  return scale > 0 && std::frexp(scale, &exponent) == 0.5f;
}

void add_other_scales(const ir::Graph& graph, const plan::QuantPlan& plan, std::vector<NpuFinding>& findings) {
  for (const plan::QuantSlot& slot : plan.slots()) {
    const plan::ParamList& params = plan.params[slot.stages[0].params];
    const auto other = std::find_if(params.begin(), params.end(),
                                    [](const numeric::QuantParams& own) { return !is_power_of_two(own.scale); });
    if (slot.state == plan::SlotState::kAbsorbed || other == params.end()) continue;
    findings.push_back({"power_of_two",
                        "",
                        graph.value(slot.value).name,
                        "scale",
                        static_cast<double>(other->scale),
                        {},
                        "quantize with a power-of-two method, as the preset XINT8 does"});
  }
}

}  // namespace

std::vector<NpuFinding> npu_findings(const ir::Graph& graph, const plan::QuantPlan& plan,
                                     const config::Settings& settings) {
  plan::QuantPlan looked_at = plan;
  Positions positions(graph, looked_at, settings);
  Sweep sweep(positions, Sweep::Mode::kLook);
  for (const PositionRule& rule : position_rules()) sweep.run(rule);
  std::vector<NpuFinding> findings;
  for (const PositionMove& move : sweep.moves()) {
    findings.push_back({move.rule->name, graph.label(move.node), graph.value(move.position.value).name, move.measure,
                        static_cast<double>(move.found), std::pair(move.low, move.high), move.rule->remedy});
  }
  add_other_scales(graph, plan, findings);
  return findings;
}

}  // namespace quarkq::passes

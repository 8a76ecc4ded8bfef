// SPDX-License-Identifier: MIT
#include "planning/constrain/npu_limits.h"

#include <algorithm>
#include <cmath>

#include "planning/constrain/position_rules.h"

namespace quarkq::planning {
namespace {

bool is_power_of_two(float scale) {
  int exponent = 0;
  return scale > 0 && std::frexp(scale, &exponent) == 0.5f;
}

/// Weights and activations of the target are bytes; int32 biases have a limit of their own.
void add_other_widths(const ir::Graph& graph, const plan::QuantPlan& plan, std::vector<NpuFinding>& findings) {
  constexpr int kBits = 8;
  for (const plan::QuantSlot& slot : plan.slots()) {
    const int width = bits(slot.stage.spec.type);
    if (slot.state == plan::SlotState::kAbsorbed || slot.role == plan::Role::kBias || width == kBits) continue;
    findings.push_back({"eight_bits", "", graph.value(slot.value).name, "bits", static_cast<double>(width),
                        std::pair(kBits, kBits), "quantize with 8-bit types, as the preset XINT8 does"});
  }
}

void add_other_scales(const ir::Graph& graph, const plan::QuantPlan& plan, std::vector<NpuFinding>& findings) {
  for (const plan::QuantSlot& slot : plan.slots()) {
    const plan::ParamList& params = plan.params[slot.stage.params];
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
  add_other_widths(graph, plan, findings);
  add_other_scales(graph, plan, findings);
  return findings;
}

}  // namespace quarkq::planning

// SPDX-License-Identifier: MIT
// The violations of an NPU target's limits (ref:npu#position-rules), without changing the plan.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config/settings.h"
#include "plan/quant_plan.h"

namespace quarkq::planning {

struct NpuFinding {
  std::string rule;     ///< The rule that would move the position ("adjust_shift_cut"), or "eight_bits" or
                        ///< "power_of_two".
  std::string node;     ///< Name of the node in messages; empty if the finding concerns only a tensor.
  std::string tensor;   ///< The tensor whose position the rule would move.
  std::string measure;  ///< "shift_cut", "position", "bits", "scale"
  double found = 0;
  std::optional<std::pair<int, int>> allowed;  ///< Both included; absent for a scale.
  std::string remedy;
};

/// Returns violations of the position rules in the order of rules and nodes, then tensors that do not have 8 bits, then
/// scales that are not powers of two.
std::vector<NpuFinding> npu_findings(const ir::Graph& graph, const plan::QuantPlan& plan,
                                     const config::Settings& settings);

}  // namespace quarkq::planning

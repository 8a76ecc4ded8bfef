// SPDX-License-Identifier: MIT
// The limits of an NPU target as a list of what violates them (ref:npu#position-rules). Nothing is changed.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config/settings.h"
#include "plan/quant_plan.h"

namespace quarkq::planning {

struct NpuFinding {
  std::string rule;     ///< "adjust_shift_cut", the rule that would move it; "eight_bits", "power_of_two"
  std::string node;     ///< as messages call it; empty when it is about a tensor alone
  std::string tensor;   ///< whose position the rule would move
  std::string measure;  ///< "shift_cut", "position", "bits", "scale"
  double found = 0;
  std::optional<std::pair<int, int>> allowed;  ///< both included; nothing for a scale
  std::string remedy;
};

/// Violations of the position rules, in the order of rules and nodes, then tensors that have not 8 bits, then scales
/// that are no powers of two.
std::vector<NpuFinding> npu_findings(const ir::Graph& graph, const plan::QuantPlan& plan,
                                     const config::Settings& settings);

}  // namespace quarkq::planning

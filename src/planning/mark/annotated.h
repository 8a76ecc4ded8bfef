// SPDX-License-Identifier: MIT
// Activations that NPUs compute together with the preceding operator (ref:marking#fused-activations).
#pragma once

#include <set>
#include <string>

#include "config/settings.h"
#include "ir/graph.h"

namespace quarkq::planning {

using OpTypes = std::set<std::string, std::less<>>;

/// Returns the operators after which such an activation needs no pair of its own.
OpTypes annotated_producers(const config::Settings& settings);
/// Returns the activation operators; a Clip also requires is_npu_clip().
OpTypes removable_activations(const config::Settings& settings);
/// Returns false for a Clip whose limits are not the initializers 0..6 or 0..1. Limits stored in attributes (opset <
/// 11) do not count.
bool is_npu_clip(const ir::Graph& graph, const ir::Node& node);

}  // namespace quarkq::planning

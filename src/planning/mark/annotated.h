// SPDX-License-Identifier: MIT
// Which activations NPUs compute together with the operator in front of them (ref:marking#fused-activations).
#pragma once

#include <set>
#include <string>

#include "config/settings.h"
#include "ir/graph.h"

namespace quarkq::planning {

using OpTypes = std::set<std::string, std::less<>>;

/// Operators after which such an activation needs no pair of its own.
OpTypes annotated_producers(const config::Settings& settings);
/// The activations themselves; a Clip only when is_npu_clip().
OpTypes removable_activations(const config::Settings& settings);
/// False for a Clip whose limits are no initializers 0..6 or 0..1; limits held in attributes (opset < 11) do not count.
bool is_npu_clip(const ir::Graph& graph, const ir::Node& node);

}  // namespace quarkq::planning

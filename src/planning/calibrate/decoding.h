// SPDX-License-Identifier: MIT
// The part of a detector that turns what its last layers say into coordinates (ir/tail.h).
#pragma once

#include <set>

#include "ir/graph.h"
#include "ir/tail.h"

namespace quarkq::planning {

/// The node scales or moves float values by a constant that differs from place to place: 64 elements or more with 16
/// values or more, such as the cells of a grid, anchors or prior boxes.
bool places_boxes(const ir::Graph& graph, const ir::Node& node);

/// The nodes of the tail that are connected with `seed` through nodes of the tail, with it; empty where it is not one.
std::set<ir::NodeId> part_around(const ir::Graph& graph, const ir::Tail& tail, ir::NodeId seed);

}  // namespace quarkq::planning

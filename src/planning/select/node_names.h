// SPDX-License-Identifier: MIT
// Resolves names in settings: names of nodes, names of tensors, and labels that messages print.
#pragma once

#include <string>
#include <vector>

#include "base/diagnostics.h"
#include "config/settings.h"
#include "ir/graph.h"

namespace quarkq::planning {

/// Nodes of this name, else those that messages call so ("node conv1 (Conv)"), else the producer of the tensor of this
/// name, or for an input or a stored tensor its readers. In compat mode node names only. Empty: none.
std::vector<ir::NodeId> nodes_meant(const ir::Graph& graph, const std::string& name, const config::Settings& settings);

/// A name in `setting` that nothing has: kInvalidArgument with the nearest one; in compat mode a warning of this id.
Status unknown_name(const ir::Graph& graph, const std::string& name, const std::string& setting,
                    const config::Settings& settings, Diagnostics& diagnostics);

}  // namespace quarkq::planning

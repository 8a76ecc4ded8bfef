// SPDX-License-Identifier: MIT
// What the scores of a sensitivity cache depend on (ref:mixed-precision#sensitivity-cache).
#pragma once

#include <string>

#include "config/mixed_settings.h"
#include "ir/graph.h"

namespace quarkq::planning {

/// A hash of the nodes of the graph and of the options that count, beside the samples.
std::string sensitivity_key(const ir::Graph& graph, const config::MixedSettings& options);

}  // namespace quarkq::planning

// SPDX-License-Identifier: MIT
// The file that SubgraphJson of AutoMixprecision names: groups of nodes that are promoted together
// (ref:mixed-precision#options).
#pragma once

#include <string>
#include <vector>

#include "base/error.h"

namespace quarkq::config {

/// The nodes that are reached from the starts over outputs, not beyond an end.
struct NodeGroup {
  std::string name;
  std::vector<std::string> starts, ends;
};

/// The groups in the order of the file. kInvalidArgument for unknown keys, groups without a name of their own or
/// without starts, and a num_subgraphs that is not their number.
Result<std::vector<NodeGroup>> load_subgraphs(const std::string& path);

}  // namespace quarkq::config

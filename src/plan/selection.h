// SPDX-License-Identifier: MIT
// Selection: which nodes may be quantized. Made once, on the model as the user knows it, before anything is renamed.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "ir/graph.h"

namespace quarkq::plan {

struct Selection {
  std::set<std::string, std::less<>> op_types;
  std::vector<bool> included;  ///< by original node id; empty: every node
  std::vector<bool> excluded;  ///< by original node id

  /// True when the node's operator is in the op set, it is included, and none of its origins is excluded (spec 02 A.1).
  bool selects(const ir::Node& node) const;

  static bool any_origin(const std::vector<bool>& marks, const ir::Node& node);
};

}  // namespace quarkq::plan

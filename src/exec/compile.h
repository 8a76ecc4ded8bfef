// SPDX-License-Identifier: MIT
// compile(): graph and input shapes -> Program. Order, operator choice, constant folding, layouts, fusion, buffer plan.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "exec/program.h"

namespace quarkq::exec {

struct Feed {
  ir::ValueId value;
  ElementType type = ElementType::kFloat;
  ir::Shape dims;
};

struct CompileRequest {
  std::vector<Feed> feeds;  ///< every graph input without an initializer that the fetches depend on
  std::vector<ir::ValueId> fetches;
  std::vector<ir::ValueId> taps;  ///< values the sink wants to hear; they are never fused away
  int64_t max_memory = 0;         ///< bytes of the arena allowed; 0: no limit
};

/// REQUIRES: `graph` outlives the program when shapes depend on data; constants are shared, not copied.
Result<Program> compile(const ir::Graph& graph, const std::map<std::string, int64_t>& opsets,
                        const CompileRequest& request);

/// The value of a node all of whose inputs are constants, computed now. Used by constant folding.
/// Nothing when the operator has no kernel or declines; an error when the node is wrong.
Result<std::vector<ir::Tensor>> evaluate_node(const ir::Graph& graph, const std::map<std::string, int64_t>& opsets,
                                              ir::NodeId node, const std::vector<const ir::Tensor*>& inputs);

}  // namespace quarkq::exec

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

/// A value that is known before anything runs.
struct Constant {
  ir::ValueId value;
  ir::Tensor tensor;
};

struct CompileRequest {
  std::vector<Feed> feeds;          ///< every value that the fetches depend on and this graph does not make
  std::vector<Constant> constants;  ///< values known beside the graph's own initializers
  std::vector<ir::ValueId> opaque;  ///< values that are there but are no tensors
  std::vector<ir::ValueId> fetches;
  std::vector<ir::ValueId> taps;  ///< values the sink observes; they are never fused away
  int64_t max_memory = 0;         ///< bytes of intermediate values and results; 0: the memory of the machine
};

/// A node that needs whole values: data that decides a shape, nested graphs, sequences. All its inputs are known when
/// the program has run.
struct Deferred {
  const ir::Node* node = nullptr;
  const OpDef* op = nullptr;  ///< null: the operator has no kernel and runs through its function body
  int64_t opset = 0;
  std::string label;
};

/// As much of a graph as can be compiled for these feeds (ADR 0004).
struct Compiled {
  Program program;
  std::vector<ir::ValueId> fetched;  ///< what the program's results are: the fetches it reaches, then what others read
  std::vector<Constant> constants;   ///< folded values that deferred or later nodes read
  std::vector<Deferred> deferred;    ///< to be run next, in this order
  std::vector<ir::ValueId> reads;    ///< values that the nodes after the deferred ones read
  std::vector<ir::ValueId> unheard;  ///< taps of values that come later
};

/// REQUIRES: `graph` outlives what is compiled; constants are shared, not copied.
Result<Compiled> compile(const ir::Graph& graph, const std::map<std::string, int64_t>& opsets,
                         const CompileRequest& request);

/// The value of a node all of whose inputs are constants, computed now. Used by constant folding.
/// Nothing when the operator has no kernel or declines; an error when the node is wrong.
Result<std::vector<ir::Tensor>> evaluate_node(const ir::Graph& graph, const std::map<std::string, int64_t>& opsets,
                                              ir::NodeId node, const std::vector<const ir::Tensor*>& inputs);

}  // namespace quarkq::exec

// SPDX-License-Identifier: MIT
// compile(): graph and input shapes -> Program. Order, operator choice, constant folding, layouts, fusion, buffer plan.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "exec/memory_plan.h"
#include "exec/program.h"

namespace quarkq::exec {

struct Feed {
  ir::ValueId value;
  ElementType type = ElementType::kFloat;
  ir::Shape dims;                  ///< ONNX order
  Layout layout = Layout::kPlain;  ///< that the tensor fed lies in
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
  int64_t max_memory = 0;  ///< bytes of intermediate values and results; 0: the memory of the machine or container
  /// Bytes of weights and values after which the program ends, where that spares memory; the nodes that are left make
  /// a further segment (ADR 0016). 0: it has all nodes.
  int64_t segment_bytes = 0;
  /// Of values in memory at once, and of what is packed and handed out beside them.
  ValueLimit values = {};
};

/// A value between two segments, in the layout it was made in.
struct Carried {
  ir::ValueId value;
  Layout layout = Layout::kPlain;
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
  /// Nodes are left although all they need is known: `deferred` and `reads` are empty, and the next segment begins
  /// with `carried`, `handed_on` and `constants`.
  bool is_cut = false;
  std::vector<Carried> carried;    ///< the program's results after `fetched`
  std::vector<Carried> handed_on;  ///< feeds that the nodes left read
  std::vector<bool> reads_feed;    ///< by feed: the program takes it; all are taken where `segment_bytes` is 0
  double share = 1;                ///< of the nodes that the fetches and taps depend on, those of this program
};

/// REQUIRES: `graph` outlives what is compiled; constants are shared, not copied.
Result<Compiled> compile(const ir::Graph& graph, const std::map<std::string, int64_t>& opsets,
                         const CompileRequest& request);

/// The value of a node all of whose inputs are constants, computed now. Used by constant folding.
/// Nothing when the operator has no kernel or declines, and where the value takes more than 256 MiB and 16 times the
/// inputs; an error when the node is wrong.
Result<std::vector<ir::Tensor>> evaluate_node(const ir::Graph& graph, const std::map<std::string, int64_t>& opsets,
                                              ir::NodeId node, const std::vector<const ir::Tensor*>& inputs);

}  // namespace quarkq::exec

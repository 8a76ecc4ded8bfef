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
  ir::Shape dims;                  ///< In ONNX order.
  Layout layout = Layout::kPlain;  ///< Layout of the fed tensor.
};

/// A value that is known before a run.
struct Constant {
  ir::ValueId value;
  ir::Tensor tensor;
};

struct CompileRequest {
  std::vector<Feed> feeds;          ///< Every value that the fetches depend on and that this graph does not compute.
  std::vector<Constant> constants;  ///< Values known in addition to the graph's own initializers.
  std::vector<ir::ValueId> opaque;  ///< Values that exist but are not tensors.
  std::vector<ir::ValueId> fetches;
  std::vector<ir::ValueId> taps;  ///< Values that the sink observes; they are never fused away.
  int64_t max_memory = 0;  ///< Upper bound on intermediate values and results in bytes; 0: the memory of the machine or
                           ///< container.
  /// Bytes of weights and values after which the program ends, if that saves memory. The remaining nodes form a further
  /// segment (ADR 0016). 0: the program contains all nodes.
  int64_t segment_bytes = 0;
  /// Bound on the values in memory at once, including packed and returned ones.
  ValueLimit values = {};
};

/// A value between two segments, in the layout in which it was computed.
struct Carried {
  ir::ValueId value;
  Layout layout = Layout::kPlain;
};

/// A node that needs whole values: data that determines a shape, nested graphs, sequences. All its inputs are known
/// after the program has run.
struct Deferred {
  const ir::Node* node = nullptr;
  const OpDef* op = nullptr;  ///< Null: the operator has no kernel and runs as its function body.
  int64_t opset = 0;
  std::string label;
};

/// The part of a graph that can be compiled for these feeds (ADR 0004).
struct Compiled {
  Program program;
  std::vector<ir::ValueId> fetched;  ///< Results of the program: the fetches it reaches, then values for other readers.
  std::vector<Constant> constants;   ///< Folded values that deferred or later nodes read.
  std::vector<Deferred> deferred;    ///< To be run next, in this order.
  std::vector<ir::ValueId> reads;    ///< Values that the nodes after the deferred ones read.
  std::vector<ir::ValueId> unheard;  ///< Taps of values that are computed later.
  /// Nodes are left although all their inputs are known: `deferred` and `reads` are empty, and the next segment begins
  /// with `carried`, `handed_on` and `constants`.
  bool is_cut = false;
  std::vector<Carried> carried;    ///< Results of the program after `fetched`.
  std::vector<Carried> handed_on;  ///< Feeds that the remaining nodes read.
  std::vector<bool> reads_feed;    ///< Whether the program reads a feed, by feed; all are true if `segment_bytes` is 0.
  double share = 1;                ///< Share of this program in the nodes that the fetches and taps depend on.
};

/// Constants are shared, not copied. REQUIRES: `graph` outlives the result.
Result<Compiled> compile(const ir::Graph& graph, const std::map<std::string, int64_t>& opsets,
                         const CompileRequest& request);

/// Computes the value of a node whose inputs are all constants, for constant folding. Returns an empty list if the
/// operator has no kernel or declines, and if the value needs more than 256 MiB and 16 times the inputs. Fails if the
/// node is faulty.
Result<std::vector<ir::Tensor>> evaluate_node(const ir::Graph& graph, const std::map<std::string, int64_t>& opsets,
                                              ir::NodeId node, const std::vector<const ir::Tensor*>& inputs);

}  // namespace quarkq::exec

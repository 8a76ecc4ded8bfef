// SPDX-License-Identifier: MIT
// Fuser: which nodes are computed together with the node before them. Fusing does not change bits (measured: ADR 0001).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "exec/quantize_pair.h"
#include "exec/value_table.h"

namespace quarkq::exec {

/// Followers of a node that its kernel computes as well.
struct Fusion {
  std::vector<PostOp> post_ops;
  std::vector<const ir::Node*> nodes;  ///< the followers, in order
  std::vector<ir::ValueId> added;      ///< values of kAdd post-ops, appended to the inputs
  ir::ValueId output;                  ///< of the last follower, or of the node itself

  /// Removes the last follower. `first_output` is the output of the node itself.
  void pop(ir::ValueId first_output);
};

/// A DQ node that is computed in one step with its Q node.
struct QuantizePair {
  const ir::Node* dequantize = nullptr;
  PairParams params;
};

class Fuser {
 public:
  /// All must outlive the fuser. The values in `kept` are observed or fetched: they are never fused away.
  Fuser(const ir::Graph& graph, const std::map<std::string, int64_t>& opsets, const ValueTable& values,
        const std::vector<ir::ValueId>& kept);

  /// Finds clamps, leaky clamps and residual sums after a convolution whose input nothing else reads. Empty for other
  /// operators.
  Fusion find(const ir::Node& node, const OpDef& op) const;
  /// Finds the DQ node of a Q node whose codes nothing else reads, if both have the same constant parameters: the codes
  /// are not stored then. The bits are those of the two nodes (ref:operators#quantize, ref:operators#dequantize).
  std::optional<QuantizePair> find_pair(const ir::Node& node) const;

 private:
  bool extend(Fusion& fusion) const;
  /// Returns the only use of a value that is neither observed nor fetched.
  std::optional<ir::Use> only_use(ir::ValueId value) const;

  const ir::Graph& graph_;
  const std::map<std::string, int64_t>& opsets_;
  const ValueTable& values_;
  std::vector<bool> kept_;  ///< by value
};

}  // namespace quarkq::exec

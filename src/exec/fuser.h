// SPDX-License-Identifier: MIT
// Fuser: finds the nodes that are computed together with the node before them. Fusing does not change bits (measured:
// ADR 0001).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "exec/quantize_pair.h"
#include "exec/value_table.h"

namespace quarkq::exec {

/// The followers of a node that its kernel also computes.
struct Fusion {
  std::vector<PostOp> post_ops;
  std::vector<const ir::Node*> nodes;  ///< Followers in order.
  std::vector<ir::ValueId> added;      ///< Values of kAdd post-ops, appended to the inputs.
  ir::ValueId output;                  ///< Output of the last follower, or of the node itself.

  /// Removes the last follower. `first_output` is the output of the node itself.
  void pop(ir::ValueId first_output);
};

/// A Q and a DQ node, or a FakeQuantize node, that are computed in one step.
struct QuantizePair {
  const ir::Node* last = nullptr;  ///< The node that computes the floats.
  PairParams params;
  bool saturates = true;  ///< See fake_quantize_kernel().
};

class Fuser {
 public:
  /// All arguments except `kept` must outlive the fuser. The values in `kept` are observed or fetched, so they are
  /// never fused away.
  Fuser(const ir::Graph& graph, const std::map<std::string, int64_t>& opsets, const ValueTable& values,
        const std::vector<ir::ValueId>& kept);

  /// Finds the clamps, leaky clamps and residual sums after a convolution whose input no other node reads. Returns an
  /// empty fusion for other operators.
  Fusion find(const ir::Node& node, const OpDef& op) const;
  /// Finds the DQ node of a Q node, if no other node reads the codes and both have the same constant parameters. The
  /// codes are then not stored. The bits are equal to the bits of the two nodes (ref:operators#quantize,
  /// ref:operators#dequantize). A FakeQuantize node with such parameters is a pair by itself. Returns nullopt
  /// otherwise.
  std::optional<QuantizePair> find_pair(const ir::Node& node) const;

 private:
  bool extend(Fusion& fusion) const;
  /// Returns the only use of a value that is neither observed nor fetched.
  std::optional<ir::Use> only_use(ir::ValueId value) const;

  const ir::Graph& graph_;
  const std::map<std::string, int64_t>& opsets_;
  const ValueTable& values_;
  std::vector<bool> kept_;  ///< Whether a value is observed or fetched.
};

}  // namespace quarkq::exec

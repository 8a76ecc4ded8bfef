// SPDX-License-Identifier: MIT
// Convolutions and products whose source and weights a DQ or FakeQuantize node computes from integers of 8 bits. They
// are summed in integers, which is exact and faster than float32 (ADR 0027).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "exec/quantize_pair.h"
#include "ir/graph.h"

namespace quarkq::exec {

/// The integers of a node: result = sum of (code of the source - zero point) * weight, times the scales.
struct IntegerOperands {
  PairParams source;            ///< With 8 bits.
  std::vector<int8_t> weights;  ///< Without zero points, as [outputs, inputs / groups, kernel...] or [outputs, inputs].
  std::vector<float> scales;    ///< Scale of the source times that of the weights, one per output.
};

/// Finds the nodes of a graph that are summed in integers. The answer depends on the graph and the machine alone, so a
/// result has the same bits whatever else is observed or however the graph is divided.
class IntegerNodes {
 public:
  /// `graph` must outlive the object.
  explicit IntegerNodes(const ir::Graph& graph) : graph_(graph) {}

  /// Returns null for a node that is computed in float32: another operator, other types, a depthwise convolution, which
  /// gains nothing, or a processor without integer products (has_vnni()).
  const IntegerOperands* find(const ir::Node& node);
  /// Returns whether a node reads the value as integers.
  bool has_reader(ir::ValueId value);

 private:
  const ir::Graph& graph_;
  std::map<int32_t, std::unique_ptr<const IntegerOperands>> found_;  ///< Keyed by node; null: float32.
};

}  // namespace quarkq::exec

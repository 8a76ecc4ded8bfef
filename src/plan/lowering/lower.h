// SPDX-License-Identifier: MIT
// lower(): the written model as a pure function of float graph and plan. What will be written, in which order and under
// which names is decided here and nowhere else: the phase write takes the result as it is, sweeps that follow the
// written order ask written_order(), and the executor runs the same stages as FakeQuantize nodes.
#pragma once

#include <vector>

#include "plan/quant_plan.h"

namespace quarkq::plan {

enum class QdqForm : uint8_t {
  kWritten,    ///< Q and DQ nodes, as in the file
  kSimulated,  ///< one FakeQuantize node for each pair: what the executor runs, never written
};

/// A pair in one node; inputs as QuantizeLinear, attributes name the operators that the pair is written as, because
/// they differ in how values out of range overflow.
inline constexpr const char kFakeQuantize[] = "FakeQuantize", kSimulationDomain[] = "quarkq";
inline constexpr const char kQuantizeOp[] = "quantize_op", kQuantizeDomain[] = "quantize_domain";
inline constexpr const char kDequantizeOp[] = "dequantize_op", kDequantizeDomain[] = "dequantize_domain";

/// `graph` with the stages of `plan` (ref:writing#pairs, ref:writing#node-order). Ids of `graph` keep their meaning: a
/// value stays what its node makes, and its readers read a new value after the stage. Nodes are in the order of
/// ref:writing#node-order. Fails on a cycle, and when a second stage needs a range that was not measured.
Result<ir::Graph> lower(const ir::Graph& graph, const QuantPlan& plan, QdqForm form);

/// The nodes of `graph` in the order that they will have among the nodes of the written model.
Result<std::vector<ir::NodeId>> written_order(const ir::Graph& graph, const QuantPlan& plan);

}  // namespace quarkq::plan

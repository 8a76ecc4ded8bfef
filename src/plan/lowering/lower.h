// SPDX-License-Identifier: MIT
// lower(): the written model as a pure function of float graph and plan. What will be written, in which order and under
// which names is decided here and nowhere else: the phase write takes the result as it is, sweeps that follow the
// written order ask written_order(), and the executor runs the same stages as FakeQuantize nodes.
#pragma once

#include <string>
#include <vector>

#include "plan/quant_plan.h"

namespace quarkq::plan {

// Every name that insertion writes (ref:writing#names); users' scripts depend on them.

/// Names around tensor `t`; `suffix` is "" or "_1", "_2", ... of a dedicated pair.
struct QdqNames {
  QdqNames(const std::string& t, const std::string& suffix = "")
      : quantize_node(t + "_QuantizeLinear" + suffix),
        dequantize_node(t + "_DequantizeLinear" + suffix),
        quantize_output(t + "_QuantizeLinear_Output" + suffix),
        dequantize_output(t + "_DequantizeLinear_Output" + suffix),
        quantize_input(t + "_QuantizeLinear_Input") {}
  std::string quantize_node, dequantize_node, quantize_output, dequantize_output;
  std::string quantize_input;  ///< output of the producer of a graph output
};

inline std::string scale_name(const std::string& t) { return t + "_scale"; }
inline std::string zero_point_name(const std::string& t) { return t + "_zero_point"; }
inline std::string stored_name(const std::string& t) { return t + "_quantized"; }

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

// SPDX-License-Identifier: MIT
// lower(): the written model as a pure function of float graph and plan. It alone decides the content, order and names
// of the written model. The phase `write` uses its result unchanged, sweeps in the written order call written_order(),
// and the executor runs the same stages as FakeQuantize nodes.
#pragma once

#include <string>
#include <vector>

#include "plan/quant_plan.h"

namespace quarkq::plan {

// All names that lowering writes (ref:writing#names); scripts of users depend on them.

/// Names of the tensors and nodes around tensor `t`. `suffix` is empty, or "_1", "_2", ... for a dedicated pair.
struct QdqNames {
  QdqNames(const std::string& t, const std::string& suffix = "")
      : quantize_node(t + "_QuantizeLinear" + suffix),
        dequantize_node(t + "_DequantizeLinear" + suffix),
        quantize_output(t + "_QuantizeLinear_Output" + suffix),
        dequantize_output(t + "_DequantizeLinear_Output" + suffix),
        quantize_input(t + "_QuantizeLinear_Input") {}
  std::string quantize_node, dequantize_node, quantize_output, dequantize_output;
  std::string quantize_input;  ///< Output of the producer of a graph output.
};

inline std::string scale_name(const std::string& t) { return t + "_scale"; }
inline std::string zero_point_name(const std::string& t) { return t + "_zero_point"; }
inline std::string stored_name(const std::string& t) { return t + "_quantized"; }

enum class QdqForm : uint8_t {
  kWritten,    ///< Q and DQ nodes, as in the file.
  kSimulated,  ///< One FakeQuantize node per pair, for the executor; never written.
};

/// A pair in one node. Inputs as for QuantizeLinear. Attributes name the operators in which the pair is written,
/// because these overflow differently.
inline constexpr const char kFakeQuantize[] = "FakeQuantize", kSimulationDomain[] = "quarkq";
inline constexpr const char kQuantizeOp[] = "quantize_op", kQuantizeDomain[] = "quantize_domain";
inline constexpr const char kDequantizeOp[] = "dequantize_op", kDequantizeDomain[] = "dequantize_domain";

/// Returns `graph` with the stages of `plan` (ref:writing#pairs, ref:writing#node-order). Ids of `graph` keep their
/// meaning: a value remains the output of its node, and its readers read a new value after the stage. Nodes are in the
/// order of ref:writing#node-order. Fails on a cycle, and if a second stage needs a range that was not measured.
Result<ir::Graph> lower(const ir::Graph& graph, const QuantPlan& plan, QdqForm form);

/// Returns the nodes of `graph` in their order among the nodes of the written model.
Result<std::vector<ir::NodeId>> written_order(const ir::Graph& graph, const QuantPlan& plan);

}  // namespace quarkq::plan

// SPDX-License-Identifier: MIT
// Reports of a compiler about small models, for the tests of their comparison with the prediction.
#pragma once

#include <set>
#include <string>

#include "support/target_models.h"
#include "targets/reported.h"

namespace quarkq::test {

/// Returns the report of a compiler that left the operators with these outputs, and the Q/DQ at the edges, on the CPU.
inline targets::Reported reported_of(const ir::Model& model, const std::set<std::string>& on_cpu = {},
                                     const std::string& npu = "NPU") {
  targets::Reported reported;
  reported.files = {"report.json"};
  const targets::QuantizedView view = targets::view_of(model).value();
  const auto name_of = [&](ir::ValueId value) {
    return value.valid() ? view.graph().value(value).name : std::string();
  };
  for (const ir::NodeId id : view.order) {
    const ir::Node& node = view.node(id);
    if (view.kind(id) == targets::NodeKind::kConstant) continue;
    targets::ReportedNode entry{node.op, npu, {}, {}};
    for (const ir::ValueId input : node.inputs) entry.inputs.push_back(name_of(input));
    for (const ir::ValueId output : node.outputs) entry.outputs.push_back(name_of(output));
    const bool is_edge =
        node.op == "QuantizeLinear" && node.input(0).valid() && view.graph().value(node.input(0)).is_input;
    const bool is_last = node.op == "DequantizeLinear" && view.graph().value(node.output(0)).is_output;
    if (is_edge || is_last) entry.device = "VITIS_EP_CPU";
    if (on_cpu.contains(entry.outputs.front())) entry.device = "CPU";
    ++reported.operators[entry.device];
    reported.nodes.push_back(std::move(entry));
  }
  return reported;
}

inline EpReport compared(const ir::Model& model, const std::string& target, const targets::Reported& reported) {
  Result<EpReport> report = targets::compare_placement(model, assessed(model, target), reported);
  EXPECT_TRUE(report.ok()) << report.status().message();
  return report.ok() ? std::move(report).value() : EpReport{};
}

}  // namespace quarkq::test

// SPDX-License-Identifier: MIT
// Values between a Conv-like producer and the activation behind it get no Q/DQ of their own: NPUs compute both at once
// (spec 02 A.8). Decided on the float graph, before anything is marked; the slots stay in the plan, absorbed.
#include "passes/assign/annotated.h"
#include "passes/passes.h"

namespace quarkq::passes {

Result<Changed> absorb_annotated(PassContext& context) {
  const ir::Graph& graph = context.graph();
  const auto producers = annotated_producers(context.settings);
  const auto activations = removable_activations(context.settings);
  for (const ir::NodeId id : graph.order()) {
    const ir::Node& node = graph.node(id);
    const ir::ValueId value = node.output(0);
    if (!value.valid() || graph.value(value).uses.size() != 1) continue;
    const ir::Use use = graph.value(value).uses[0];
    if (use.is_capture || use.input != 0) continue;
    const ir::Node& reader = graph.node(use.node);
    const bool activation =
        producers.contains(node.op) && activations.contains(reader.op) && is_npu_clip(graph, reader);
    const bool padded_pool = node.is("Pad") && (reader.is("AveragePool") || reader.is("GlobalAveragePool"));
    // A graph output keeps its pair: the reference renames it before it looks for annotated names.
    if ((activation || padded_pool) && !graph.value(value).is_output) context.absorbed.push_back(value);
  }
  return Changed::kNo;
}

}  // namespace quarkq::passes

// SPDX-License-Identifier: MIT
#include "passes/calibrate/range_sources.h"

namespace quarkq::passes {

RangeSources find_range_sources(const PassContext& context) {
  const ir::Graph& graph = context.model.graph;
  RangeSources sources;
  sources.source.resize(graph.value_count());
  sources.unit.resize(graph.value_count());
  for (size_t i = 0; i < sources.source.size(); ++i) sources.source[i] = {static_cast<int32_t>(i)};
  for (const ir::NodeId id : graph.order()) {
    const ir::Node& node = graph.node(id);
    if (!context.selection.selects(node)) continue;
    const ir::ValueId input = node.input(0), output = node.output(0);
    if (!input.valid() || !output.valid()) continue;
    const auto in = static_cast<size_t>(input.index), out = static_cast<size_t>(output.index);
    if (node.is("Softmax")) sources.unit[out] = true;
    if (!node.is("Relu") && !node.is("Clip")) continue;
    if (graph.value(input).uses.size() != 1 || graph.value(input).is_initializer()) continue;
    sources.source[in] = sources.source[out];
    sources.unit[in] = sources.unit[out];
  }
  return sources;
}

}  // namespace quarkq::passes

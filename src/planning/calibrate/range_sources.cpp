// SPDX-License-Identifier: MIT
#include "planning/calibrate/range_sources.h"

#include <algorithm>

#include "planning/calibrate/measured_tensors.h"

namespace quarkq::planning {
namespace {

/// The first value upwards of `node`, through its inputs in order, that no passthrough node makes
/// (ref:calibration#passthrough).
ir::ValueId passthrough_source(const ir::Graph& graph, const ir::Node& node, const std::vector<std::string>& types) {
  const ir::Node* current = &node;
  while (current->input(0).valid()) {
    const ir::ValueId input = current->input(0);
    const ir::NodeId producer = graph.value(input).producer;
    if (!producer.valid()) return input;
    current = &graph.node(producer);
    if (std::find(types.begin(), types.end(), current->op) == types.end()) return input;
  }
  return {};
}

/// CalibPassthroughOpTypes: the outputs of these operators have the range of their inputs.
void pass_ranges_through(const pass::PlanContext& context, RangeSources& sources) {
  const std::vector<std::string>& types = context.settings.ranges.calib_passthrough_op_types;
  if (types.empty()) return;
  const ir::Graph& graph = context.model.graph;
  const std::vector<ir::ValueId> calibrated = calibrated_tensors(context);
  for (const ir::NodeId id : graph.order()) {
    const ir::Node& node = graph.node(id);
    if (std::find(types.begin(), types.end(), node.op) == types.end()) continue;
    const ir::ValueId source = passthrough_source(graph, node, types);
    if (!std::binary_search(calibrated.begin(), calibrated.end(), source)) continue;
    for (const ir::ValueId output : node.outputs) {
      if (output.valid()) sources.source[static_cast<size_t>(output.index)] = source;
    }
  }
}

}  // namespace

RangeSources find_range_sources(const pass::PlanContext& context) {
  const ir::Graph& graph = context.model.graph;
  RangeSources sources;
  sources.source.resize(graph.value_count());
  sources.unit.resize(graph.value_count());
  for (size_t i = 0; i < sources.source.size(); ++i) sources.source[i] = {static_cast<int32_t>(i)};
  pass_ranges_through(context, sources);
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

}  // namespace quarkq::planning

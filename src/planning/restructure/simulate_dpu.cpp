// SPDX-License-Identifier: MIT
// Runs the conversions in the reference's order (ref:npu#dpu-simulation), each over the nodes in list order.
#include <algorithm>
#include <string_view>

#include "planning/passes.h"
#include "planning/restructure/simulation.h"

namespace quarkq::planning {
namespace {

struct Conversion {
  bool config::Settings::Npu::*is_enabled;
  std::vector<std::string_view> ops;
  bool needs_op_in_set;  ///< else only the lists of included and excluded nodes count
  Convert convert;
};

const std::vector<Conversion>& conversions() {
  using config::Settings;
  static const std::vector<Conversion> kConversions = {
      {&Settings::Npu::convert_leaky_relu_to_dpu_version, {"LeakyRelu"}, true, convert_leaky_relu},
      {&Settings::Npu::convert_sigmoid_to_hard_sigmoid, {"Sigmoid"}, true, convert_sigmoid},
      {&Settings::Npu::convert_hard_sigmoid_to_dpu_version, {"HardSigmoid"}, false, convert_hard_sigmoid},
      {&Settings::Npu::convert_avg_pool_to_dpu_version,
       {"AveragePool", "GlobalAveragePool"},
       true,
       convert_average_pool},
      {&Settings::Npu::convert_reduce_mean_to_dpu_version, {"ReduceMean"}, true, convert_reduce_mean},
      {&Settings::Npu::convert_softmax_to_dpu_version, {"Softmax"}, true, convert_softmax},
      {&Settings::Npu::convert_instance_norm_to_dpu_version, {"InstanceNormalization"}, true, convert_instance_norm},
      {&Settings::Npu::convert_clip_to_dpu_version, {"Clip"}, true, convert_clip},
  };
  return kConversions;
}

bool is_selected(const plan::Selection& selection, const ir::Node& node, const Conversion& conversion) {
  if (conversion.needs_op_in_set) return selection.selects(node);
  return (selection.included.empty() || selection.included.contains(node)) && !selection.excluded.contains(node);
}

}  // namespace

Result<Changed> simulate_dpu(pass::RestructureContext& context) {
  Simulation simulation(context);
  for (const Conversion& conversion : conversions()) {
    if (!(context.settings.npu.*conversion.is_enabled)) continue;
    const std::vector<ir::NodeId> order = context.graph().order();
    for (const ir::NodeId id : order) {
      const ir::Node& node = context.graph().node(id);
      const bool is_its_op = node.domain.empty() &&
                             std::find(conversion.ops.begin(), conversion.ops.end(), node.op) != conversion.ops.end();
      if (is_its_op && is_selected(context.selection, node, conversion)) conversion.convert(simulation, id);
    }
  }
  return simulation.changed ? Changed::kYes : Changed::kNo;
}

}  // namespace quarkq::planning

// SPDX-License-Identifier: MIT
// BF16WithClip (ref:writing#post-processing): bfloat16 rounds what lies beyond its largest number to infinity, so
// activations are clipped before.
#include <map>

#include "ir/arguments.h"
#include "ir/edit.h"
#include "ir/qdq_nodes.h"
#include "pass/tidy_up.h"
#include "qdq/passes.h"

namespace quarkq::qdq {
namespace {

constexpr float kLargestBfloat16 = 3.38953139e38f;  // the largest finite bfloat16

bool is_clipped(const ir::Graph& graph, ir::ValueId value) {
  const ir::Node* clip = graph.producer(value);
  return clip != nullptr && clip->is("Clip") &&
         ir::number_of(graph, *clip, 1, "min", 0) == -static_cast<double>(kLargestBfloat16) &&
         ir::number_of(graph, *clip, 2, "max", 0) == static_cast<double>(kLargestBfloat16);
}

}  // namespace

Result<Changed> bf16_with_clip(pass::QdqContext& context) {
  ir::Graph& graph = context.graph();
  ir::GraphEdit edit(graph);
  std::map<ir::ValueId, ir::ValueId> clipped;  // dedicated pairs share one Clip
  Changed changed = Changed::kNo;
  for (const ir::NodeId id : std::vector<ir::NodeId>(graph.order())) {
    const ir::Node& node = graph.node(id);
    if (!ir::is_extended_q(node) || !ir::has_bf16_zero_point(graph, node)) continue;
    const ir::ValueId source = node.input(0);
    if (graph.value(source).is_initializer() || is_clipped(graph, source)) continue;
    ir::ValueId& output = clipped[source];
    if (!output.valid()) {
      const std::string name = graph.value(source).name;
      const ir::ValueId low = edit.add_initializer(name + "_clip_min", ir::Tensor::scalar(-kLargestBfloat16));
      const ir::ValueId high = edit.add_initializer(name + "_clip_max", ir::Tensor::scalar(kLargestBfloat16));
      output = edit.add_value(name + "_clip_output", graph.value(source).type);
      edit.add_node({"Clip", "", "", {source, low, high}, {output}}, id);
    }
    edit.set_input(id, 0, output);
    changed = Changed::kYes;
  }
  return pass::tidy_up(context.graph(), changed);
}

}  // namespace quarkq::qdq

// SPDX-License-Identifier: MIT
#include "qdq/passes.h"

#include <limits>

#include "ir/arguments.h"
#include "ir/edit.h"
#include "pass/gate_clip.h"

namespace quarkq::qdq {
namespace {

/// The lower limit: an attribute, a constant, or a constant read through Identity.
std::optional<double> lower_limit(const ir::Graph& graph, const ir::Node& clip) {
  constexpr double kNone = -std::numeric_limits<double>::infinity();
  const ir::Node* source = clip.input(1).valid() ? graph.producer(clip.input(1)) : nullptr;
  if (source != nullptr && source->is("Identity")) return ir::number_of(graph, *source, 0, "", kNone);
  return ir::number_of(graph, clip, 1, "min", kNone);
}

}  // namespace

Result<Changed> convert_clip_to_relu(pass::QdqContext& context) {
  ir::Graph& graph = context.graph();
  ir::GraphEdit edit(graph);
  const bool only_at_zero = context.settings.quirk(config::Quirk::kClipToReluAtZero);
  Changed changed = Changed::kNo;
  for (const ir::NodeId id : std::vector<ir::NodeId>(graph.order())) {
    const ir::Node clip = graph.node(id);
    if (!clip.is("Clip") || !context.selection.selects(clip)) continue;
    const auto low = lower_limit(graph, clip);
    if (context.settings.guards() && pass::is_gate(graph, clip)) continue;
    if (!low || *low < 0.0 || (only_at_zero && *low > 0.0)) continue;
    const ir::NodeId relu = edit.add_node({"Relu", "", clip.name, {clip.input(0)}, {}, {}, clip.origins}, id);
    edit.remove_node(id);
    edit.set_output(relu, 0, clip.output(0));
    changed = Changed::kYes;
  }
  if (changed == Changed::kYes) edit.remove_dead();  // limits that no other node reads
  return changed;
}

}  // namespace quarkq::qdq

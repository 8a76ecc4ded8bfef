// SPDX-License-Identifier: MIT
// Clip(0, 6) becomes Relu of the same name, input and output (ref:equalization#clip-to-relu): equalization steps
// through Relu only, and the range of the scaled values makes the limit 6 meaningless.
#include <cmath>

#include "ir/arguments.h"
#include "ir/edit.h"
#include "ir/topo.h"
#include "pass/gate_clip.h"
#include "rewrite/driver.h"
#include "rewrite/passes.h"

namespace quarkq::rewrite {
namespace {

bool is_near(std::optional<double> value, double wanted) {
  return value && std::abs(*value - wanted) <= 1e-8 + 1e-5 * std::abs(wanted);
}

bool is_clip6(const ir::Graph& graph, const ir::Node& node) {
  return node.is("Clip") && is_near(ir::number_of(graph, node, 1, "min", NAN), 0) &&
         is_near(ir::number_of(graph, node, 2, "max", NAN), 6);
}

}  // namespace

Result<Changed> replace_clip6_relu(pass::FloatContext& context) {
  size_t kept = 0;
  std::string first_kept;
  const auto rule = [&](const ir::Graph& graph, const ir::Node& clip) -> Proposal {
    if (!is_clip6(graph, clip)) return std::optional<ir::GraphPatch>();
    if (context.settings.guards() && pass::is_gate(graph, clip)) {
      if (kept++ == 0) first_kept = graph.label(clip.id);
      return std::optional<ir::GraphPatch>();
    }
    ir::GraphPatch patch;
    patch.remove(clip.id);
    patch.node({"Relu", "", clip.name, {clip.input(0)}, {clip.output(0)}, {}});
    patch.place_at_end();
    return std::optional(std::move(patch));
  };
  QQ_TRY(const Changed changed, run_once(context.graph(), rule));
  if (kept > 0) {
    context.diagnostics.add("guard-hard-swish", first_kept,
                            cat("and ", kept - 1, " others end a hard-swish or hard-sigmoid; they are kept"));
  }
  if (changed == Changed::kNo) return changed;
  ir::GraphEdit(context.graph()).remove_dead();  // the limits, where nothing else reads them
  QQ_RETURN_IF_ERROR(ir::sort_topologically(context.graph()).status());
  return changed;
}

}  // namespace quarkq::rewrite

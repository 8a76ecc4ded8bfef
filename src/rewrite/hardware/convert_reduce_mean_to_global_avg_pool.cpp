// SPDX-License-Identifier: MIT
// ReduceMean over axes [2, 3] of an image that keeps its dims is GlobalAveragePool.
#include "ir/arguments.h"
#include "pass/tidy_up.h"
#include "rewrite/driver.h"
#include "rewrite/passes.h"

namespace quarkq::rewrite {
namespace {

bool is_pool(const ir::Graph& graph, const ir::Node& node) {
  if (!node.is("ReduceMean") || node.int_or("keepdims", 1) != 1) return false;
  const auto axes = ir::integers_of(graph, node, 1, "axes");
  const ir::ValueType& type = graph.value(node.input(0)).type;
  return axes == std::vector<int64_t>{2, 3} && type.has_shape && type.dims.size() == 4;
}

}  // namespace

Result<Changed> convert_reduce_mean_to_global_avg_pool(pass::FloatContext& context) {
  const auto rule = [&](const ir::Graph& graph, const ir::Node& mean) -> Proposal {
    if (!context.selection.selects(mean) || !is_pool(graph, mean)) return std::optional<ir::GraphPatch>();
    ir::GraphPatch patch;
    patch.remove(mean.id);
    patch.node({"GlobalAveragePool", "", mean.name, {mean.input(0)}, {mean.output(0)}, {}});
    patch.place_at_end();
    return std::optional(std::move(patch));
  };
  QQ_TRY(const Changed changed, run_once(context.graph(), rule));
  return pass::tidy_up(context.graph(), changed);
}

}  // namespace quarkq::rewrite

// SPDX-License-Identifier: MIT
// Folds a zero Pad of the spatial dimensions into the pads of the Conv that is its only reader
// (ref:rewrites#simplifier, FusionPadConv).
#include "rewrite/driver.h"
#include "rewrite/pads.h"
#include "rewrite/passes.h"

namespace quarkq::rewrite {
namespace {

std::optional<ir::GraphPatch> fuse(const ir::Graph& graph, const ir::Node& conv) {
  if (!conv.is("Conv")) return std::nullopt;
  const ir::Node* pad = graph.producer(conv.input(0));
  if (pad == nullptr || !graph.sole_use(conv.input(0))) return std::nullopt;
  const std::optional<SpatialPad> amounts =
      read_spatial_pad(*pad, [&](ir::ValueId value) { return graph.constant(value); });
  return amounts && amounts->value == 0 ? merge_pads(conv, *pad, *amounts, conv.name) : std::nullopt;
}

}  // namespace

Result<Changed> fuse_pad_into_conv(pass::FloatContext& context) {
  return run_rule(context, "fuse-pad-into-conv",
                  [](const ir::Graph& graph, const ir::Node& node) -> Result<std::optional<ir::GraphPatch>> {
                    return fuse(graph, node);
                  });
}

}  // namespace quarkq::rewrite

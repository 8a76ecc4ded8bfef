// SPDX-License-Identifier: MIT
// Folds a zero Pad of the spatial dimensions into the pads of the Conv that is its only reader.
#include "rewrite/pads.h"
#include "rewrite/simplify/patterns.h"

namespace quarkq::rewrite::simplify {

std::optional<Rewrite> fuse_pad_conv(const Sweep& sweep, const ir::Node& conv) {
  const ir::Node* pad = sweep.sole_producer(conv.input(0), "Pad");
  if (pad == nullptr || !pad->input(1).valid()) return std::nullopt;  // as an attribute, before opset 11, it stays
  const std::optional<SpatialPad> amounts =
      read_spatial_pad(*pad, [&](ir::ValueId value) { return sweep.scope.constant(value); });
  if (!amounts || amounts->value != 0) return std::nullopt;
  std::optional<ir::GraphPatch> patch = merge_pads(conv, *pad, *amounts, sweep.scope.name(conv.output(0)));
  if (!patch) return std::nullopt;
  Rewrite rewrite;
  rewrite.patch = std::move(*patch);
  return rewrite;
}

}  // namespace quarkq::rewrite::simplify

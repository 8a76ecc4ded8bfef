// SPDX-License-Identifier: MIT
// A zero Pad of the spatial dimensions goes into the pads of the Conv that alone reads it.
#include "rewrite/merge_pads.h"
#include "rewrite/simplify/patterns.h"

namespace quarkq::rewrite::simplify {
namespace {

/// The amounts of a Pad, [begin..., end...], when it only adds zeros around an image; nothing otherwise.
std::optional<std::vector<int64_t>> spatial_zero_pads(const Sweep& sweep, const ir::Node& pad) {
  if (pad.string_or("mode", "constant") != "constant" || pad.input(3).valid()) return std::nullopt;
  const auto amounts = sweep.scope.integers(pad.input(1));  // as an attribute, before opset 11, they are left alone
  if (pad.input(2).valid()) {
    const ir::Tensor* value = sweep.scope.constant(pad.input(2));
    if (value == nullptr || value->size() > 1) return std::nullopt;
    const Result<std::vector<double>> number = ir::to_double(*value);
    if (!number.ok() || (value->size() == 1 && number.value()[0] != 0)) return std::nullopt;
  }
  if (!amounts || amounts->size() % 2 != 0 || amounts->size() < 6) return std::nullopt;
  const size_t rank = amounts->size() / 2;
  for (size_t i = 0; i < amounts->size(); ++i) {
    if ((*amounts)[i] < 0 || (i % rank < 2 && (*amounts)[i] != 0)) return std::nullopt;
  }
  return amounts;
}

}  // namespace

std::optional<Rewrite> fuse_pad_conv(const Sweep& sweep, const ir::Node& conv) {
  const ir::Node* pad = sweep.sole_producer(conv.input(0), "Pad");
  if (pad == nullptr) return std::nullopt;
  const std::optional<std::vector<int64_t>> amounts = spatial_zero_pads(sweep, *pad);
  if (!amounts) return std::nullopt;
  std::optional<ir::GraphPatch> patch = merge_pads(conv, *pad, *amounts, sweep.scope.name(conv.output(0)));
  if (!patch) return std::nullopt;
  Rewrite rewrite;
  rewrite.patch = std::move(*patch);
  return rewrite;
}

}  // namespace quarkq::rewrite::simplify

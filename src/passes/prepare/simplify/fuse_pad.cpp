// SPDX-License-Identifier: MIT
// A zero Pad of the spatial dimensions goes into the pads of the Conv that alone reads it.
#include "passes/prepare/simplify/patterns.h"

namespace quarkq::passes::simplify {
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
  const std::string auto_pad = conv.string_or("auto_pad", "NOTSET");
  if (pad == nullptr || (auto_pad != "NOTSET" && auto_pad != "VALID")) return std::nullopt;
  const std::optional<std::vector<int64_t>> amounts = spatial_zero_pads(sweep, *pad);
  if (!amounts) return std::nullopt;
  const size_t rank = amounts->size() / 2, spatial = rank - 2;
  std::vector<int64_t> pads = conv.ints_or("pads", std::vector<int64_t>(2 * spatial, 0));
  if (pads.size() != 2 * spatial) return std::nullopt;
  if (auto_pad == "VALID") pads.assign(2 * spatial, 0);
  for (size_t i = 0; i < spatial; ++i) {
    pads[i] += (*amounts)[2 + i];
    pads[spatial + i] += (*amounts)[rank + 2 + i];
  }
  Rewrite rewrite;
  ir::GraphPatch::PatchNode merged{conv.op,         conv.domain,      sweep.scope.name(conv.output(0)),
                                   {pad->input(0)}, {conv.output(0)}, conv.attributes};
  for (size_t i = 1; i < conv.inputs.size(); ++i) merged.inputs.emplace_back(conv.inputs[i]);
  std::erase_if(merged.attributes, [](const ir::Attribute& a) { return a.name == "auto_pad" || a.name == "pads"; });
  merged.attributes.push_back({"pads", std::move(pads), {}, {}});
  rewrite.patch.remove(pad->id);
  rewrite.patch.remove(conv.id);
  rewrite.patch.node(std::move(merged));
  return rewrite;
}

}  // namespace quarkq::passes::simplify

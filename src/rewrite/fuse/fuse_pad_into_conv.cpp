// SPDX-License-Identifier: MIT
// A zero Pad of the spatial dimensions goes into the pads of the Conv that alone reads it (spec 04 A.4, FusionPadConv).
#include <algorithm>

#include "rewrite/driver.h"
#include "rewrite/merge_pads.h"
#include "rewrite/passes.h"

namespace quarkq::rewrite {
namespace {

/// The amounts of a Pad, [begin..., end...], when it only adds zeros around an image; nothing otherwise.
std::optional<std::vector<int64_t>> spatial_zero_pads(const ir::Graph& graph, const ir::Node& pad) {
  if (!pad.is("Pad") || pad.string_or("mode", "constant") != "constant" || pad.input(3).valid()) return std::nullopt;
  std::vector<int64_t> amounts = pad.ints_or("pads", {});
  if (pad.inputs.size() > 1) {
    const ir::Tensor* given = graph.constant(pad.input(1));
    if (given == nullptr || given->type() != ElementType::kInt64) return std::nullopt;
    amounts.assign(given->data<int64_t>().begin(), given->data<int64_t>().end());
  } else if (pad.float_or("value", 0.0f) != 0.0f) {
    return std::nullopt;
  }
  if (pad.input(2).valid()) {
    const ir::Tensor* value = graph.constant(pad.input(2));
    if (value == nullptr || value->size() > 1) return std::nullopt;
    const Result<std::vector<double>> number = ir::to_double(*value);
    if (!number.ok() || (value->size() == 1 && number.value()[0] != 0)) return std::nullopt;
  }
  const size_t rank = amounts.size() / 2;
  if (amounts.size() % 2 != 0 || rank < 3) return std::nullopt;
  const bool spatial = amounts[0] == 0 && amounts[1] == 0 && amounts[rank] == 0 && amounts[rank + 1] == 0;
  const bool grows = std::all_of(amounts.begin(), amounts.end(), [](int64_t amount) { return amount >= 0; });
  return spatial && grows ? std::optional(amounts) : std::nullopt;
}

std::optional<ir::GraphPatch> fuse(const ir::Graph& graph, const ir::Node& conv) {
  if (!conv.is("Conv")) return std::nullopt;
  const ir::Node* pad = graph.producer(conv.input(0));
  if (pad == nullptr || !graph.sole_use(conv.input(0))) return std::nullopt;
  const std::optional<std::vector<int64_t>> amounts = spatial_zero_pads(graph, *pad);
  return amounts ? merge_pads(conv, *pad, *amounts, conv.name) : std::nullopt;
}

}  // namespace

Result<Changed> fuse_pad_into_conv(pass::FloatContext& context) {
  return run_rule(context, "fuse-pad-into-conv",
                 [](const ir::Graph& graph, const ir::Node& node) -> Result<std::optional<ir::GraphPatch>> {
                   return fuse(graph, node);
                 });
}

}  // namespace quarkq::rewrite

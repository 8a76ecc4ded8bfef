// SPDX-License-Identifier: MIT
#include "rewrite/merge_pads.h"

#include "ir/axes.h"

namespace quarkq::rewrite {

std::optional<ir::GraphPatch> merge_pads(const ir::Node& conv, const ir::Node& pad, const std::vector<int64_t>& amounts,
                                         const std::string& name) {
  const std::string auto_pad = conv.string_or("auto_pad", "NOTSET");
  if (auto_pad != "NOTSET" && auto_pad != "VALID") return std::nullopt;
  const size_t rank = amounts.size() / 2, spatial = rank - 2;
  std::vector<int64_t> pads = conv.ints_or("pads", std::vector<int64_t>(2 * spatial, 0));
  if (pads.size() != 2 * spatial) return std::nullopt;
  if (auto_pad == "VALID") pads.assign(2 * spatial, 0);
  for (size_t i = 0; i < spatial; ++i) {
    const auto begin = ir::checked_sum(pads[i], amounts[2 + i]);
    const auto end = ir::checked_sum(pads[spatial + i], amounts[rank + 2 + i]);
    if (!begin || !end) return std::nullopt;
    pads[i] = *begin;
    pads[spatial + i] = *end;
  }
  ir::GraphPatch patch;
  ir::GraphPatch::PatchNode merged{conv.op, conv.domain, name, {pad.input(0)}, {conv.output(0)}, conv.attributes};
  for (size_t i = 1; i < conv.inputs.size(); ++i) merged.inputs.emplace_back(conv.inputs[i]);
  std::erase_if(merged.attributes, [](const ir::Attribute& a) { return a.name == "auto_pad" || a.name == "pads"; });
  merged.attributes.push_back({"pads", std::move(pads), {}, {}});
  patch.remove(pad.id);
  patch.remove(conv.id);
  patch.node(std::move(merged));
  return patch;
}

}  // namespace quarkq::rewrite

// SPDX-License-Identifier: MIT
#include "rewrite/pads.h"

#include "ir/shape.h"

namespace quarkq::rewrite {

std::optional<SpatialPad> read_spatial_pad(const ir::Node& pad, const ConstantOf& constant) {
  if (!pad.is("Pad") || pad.string_or("mode", "constant") != "constant" || pad.input(3).valid()) return std::nullopt;
  SpatialPad found{pad.ints_or("pads", {}), pad.float_or("value", 0.0f)};
  if (pad.input(1).valid()) {
    const ir::Tensor* given = constant(pad.input(1));
    if (given == nullptr || given->type() != ElementType::kInt64) return std::nullopt;
    found.amounts.assign(given->data<int64_t>().begin(), given->data<int64_t>().end());
    found.value = 0;  // the attribute is of opsets in which the amounts are one, too
  }
  if (pad.input(2).valid()) {
    const ir::Tensor* value = constant(pad.input(2));
    if (value == nullptr || value->size() > 1) return std::nullopt;
    const Result<std::vector<double>> number = ir::to_double(*value);
    if (!number.ok()) return std::nullopt;
    if (value->size() == 1) found.value = number.value()[0];
  }
  const size_t rank = found.amounts.size() / 2;
  if (found.amounts.size() % 2 != 0 || rank < 3) return std::nullopt;
  for (size_t i = 0; i < found.amounts.size(); ++i) {
    if (found.amounts[i] < 0 || (i % rank < 2 && found.amounts[i] != 0)) return std::nullopt;
  }
  return found;
}

std::optional<std::vector<int64_t>> grown_pads(std::vector<int64_t> pads, const SpatialPad& pad) {
  const size_t rank = pad.amounts.size() / 2, spatial = rank - 2;
  if (pads.size() != 2 * spatial) return std::nullopt;
  for (size_t i = 0; i < pads.size(); ++i) {
    const size_t at = i < spatial ? 2 + i : rank + 2 + (i - spatial);
    const std::optional<int64_t> sum = ir::checked_sum(pads[i], pad.amounts[at]);
    if (!sum) return std::nullopt;
    pads[i] = *sum;
  }
  return pads;
}

std::optional<ir::GraphPatch> merge_pads(const ir::Node& conv, const ir::Node& pad, const SpatialPad& amounts,
                                         const std::string& name) {
  const std::string auto_pad = conv.string_or("auto_pad", "NOTSET");
  if (auto_pad != "NOTSET" && auto_pad != "VALID") return std::nullopt;
  const std::vector<int64_t> zeros(amounts.amounts.size() - 4, 0);
  const std::vector<int64_t> own = conv.ints_or("pads", zeros);
  if (own.size() != zeros.size()) return std::nullopt;
  std::optional<std::vector<int64_t>> pads = grown_pads(auto_pad == "VALID" ? zeros : own, amounts);
  if (!pads) return std::nullopt;
  ir::GraphPatch patch;
  ir::GraphPatch::PatchNode merged{conv.op, conv.domain, name, {pad.input(0)}, {conv.output(0)}, conv.attributes};
  for (size_t i = 1; i < conv.inputs.size(); ++i) merged.inputs.emplace_back(conv.inputs[i]);
  std::erase_if(merged.attributes, [](const ir::Attribute& a) { return a.name == "auto_pad" || a.name == "pads"; });
  merged.attributes.push_back({"pads", *std::move(pads), {}, {}});
  patch.remove(pad.id);
  patch.remove(conv.id);
  patch.node(std::move(merged));
  return patch;
}

}  // namespace quarkq::rewrite

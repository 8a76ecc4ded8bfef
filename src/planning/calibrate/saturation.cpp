// SPDX-License-Identifier: MIT
#include "planning/calibrate/saturation.h"

#include <algorithm>
#include <string_view>

namespace quarkq::planning {
namespace {

using numeric::Range;
using OptRange = std::optional<Range>;

/// Sigmoid is 4e-4 from its limits there, within a fifth of half a step, and Tanh 7e-4; just inside of the power of two
/// that their scales then have.
constexpr Range kSigmoid{-7.9f, 7.9f}, kTanh{-3.95f, 3.95f};
constexpr std::string_view kCarriers[] = {"Reshape", "Transpose", "Flatten", "Squeeze", "Unsqueeze", "Slice",
                                          "Split",   "Concat",    "Gather",  "Expand",  "Tile",      "Identity"};

OptRange own_range(const ir::Node& node) {
  if (!node.domain.empty()) return {};
  if (node.is("Sigmoid")) return kSigmoid;
  if (node.is("Tanh")) return kTanh;
  if (!node.is("HardSigmoid")) return {};
  const float alpha = node.float_or("alpha", 0.2f), beta = node.float_or("beta", 0.5f);
  if (!(alpha > 0) || !(beta >= 0) || !(beta <= 1)) return {};
  return Range{-beta / alpha, (1 - beta) / alpha};
}

bool moves(const ir::Node& node, int32_t input) {
  const bool is_mover = node.domain.empty() && std::ranges::find(kCarriers, node.op) != std::end(kCarriers);
  return is_mover && (input == 0 || node.is("Concat"));
}

/// What holds both; nothing where one is not known.
OptRange around(const OptRange& a, const OptRange& b) {
  if (!a || !b) return {};
  return Range{std::min(a->min, b->min), std::max(a->max, b->max)};
}

/// What one reader needs of the tensor.
OptRange range_for(const ir::Graph& graph, const ir::Use& use, const std::vector<OptRange>& known) {
  const ir::Node& reader = graph.node(use.node);
  if (use.is_capture) return {};
  if (!moves(reader, use.input)) return use.input == 0 ? own_range(reader) : OptRange();
  OptRange found = known[static_cast<size_t>(reader.output(0).index)];
  for (const ir::ValueId output : reader.outputs)
    if (output.valid()) found = around(found, known[static_cast<size_t>(output.index)]);
  return found;
}

}  // namespace

std::vector<OptRange> ranges_before_saturation(const ir::Graph& graph) {
  std::vector<OptRange> known(graph.value_count());
  for (auto id = graph.order().rbegin(); id != graph.order().rend(); ++id) {
    for (const ir::ValueId output : graph.node(*id).outputs) {
      if (!output.valid()) continue;
      const ir::Value& value = graph.value(output);
      if (value.is_output || value.uses.empty()) continue;
      OptRange found = range_for(graph, value.uses[0], known);
      for (const ir::Use& use : value.uses) found = around(found, range_for(graph, use, known));
      known[static_cast<size_t>(output.index)] = found;
    }
  }
  return known;
}

}  // namespace quarkq::planning

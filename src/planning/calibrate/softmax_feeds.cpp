// SPDX-License-Identifier: MIT
#include "planning/calibrate/softmax_feeds.h"

#include <algorithm>
#include <string_view>

namespace quarkq::planning {
namespace {

/// Inputs whose number has its bit set in `inputs` are data; the others are shapes, indices and conditions.
constexpr struct {
  std::string_view op;
  uint32_t inputs;
  FeedKind kind;
} kFeeds[] = {
    {"Softmax", 1, FeedKind::kSoftmax}, {"Add", ~0u, FeedKind::kAdds},    {"Sub", 1, FeedKind::kAdds},
    {"Where", 6, FeedKind::kMoves},     {"Reshape", 1, FeedKind::kMoves}, {"Transpose", 1, FeedKind::kMoves},
    {"Slice", 1, FeedKind::kMoves},     {"Squeeze", 1, FeedKind::kMoves}, {"Unsqueeze", 1, FeedKind::kMoves},
    {"Expand", 1, FeedKind::kMoves},    {"Flatten", 1, FeedKind::kMoves}, {"Identity", 1, FeedKind::kMoves},
    {"Concat", ~0u, FeedKind::kMoves},  {"Split", 1, FeedKind::kMoves},   {"Tile", 1, FeedKind::kMoves},
    {"Gather", 1, FeedKind::kMoves},
};

bool is_such(const ir::Graph& graph, ir::ValueId id, const std::vector<bool>& known) {
  const ir::Value& value = graph.value(id);
  if (value.is_output || value.uses.empty()) return false;
  return std::all_of(value.uses.begin(), value.uses.end(), [&](const ir::Use& use) {
    const ir::Node& reader = graph.node(use.node);
    const FeedKind kind = use.is_capture ? FeedKind::kNone : feed_kind(reader, use.input);
    if (kind == FeedKind::kNone || kind == FeedKind::kSoftmax) return kind == FeedKind::kSoftmax;
    return std::all_of(reader.outputs.begin(), reader.outputs.end(),
                       [&](ir::ValueId output) { return !output.valid() || known[static_cast<size_t>(output.index)]; });
  });
}

}  // namespace

FeedKind feed_kind(const ir::Node& node, int32_t input) {
  if (!node.domain.empty() || input > 31) return FeedKind::kNone;
  for (const auto& row : kFeeds) {
    if (row.op == node.op) return (row.inputs >> input & 1) != 0 ? row.kind : FeedKind::kNone;
  }
  return FeedKind::kNone;
}

std::vector<bool> feeds_softmax_only(const ir::Graph& graph) {
  std::vector<bool> such(graph.value_count());
  for (auto id = graph.order().rbegin(); id != graph.order().rend(); ++id) {
    for (const ir::ValueId output : graph.node(*id).outputs) {
      if (output.valid()) such[static_cast<size_t>(output.index)] = is_such(graph, output, such);
    }
  }
  for (const auto* outer : {&graph.initializers(), &graph.inputs()}) {
    for (const ir::ValueId id : *outer) such[static_cast<size_t>(id.index)] = is_such(graph, id, such);
  }
  return such;
}

}  // namespace quarkq::planning

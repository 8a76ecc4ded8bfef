// SPDX-License-Identifier: MIT
#include "pipeline/harmful_blocks.h"

#include <algorithm>

#include "ir/islands.h"
#include "ir/macs.h"
#include "pipeline/facts.h"

namespace quarkq::pipeline {
namespace {

/// Layers that a block is grown by are searched among so many of the most harmful ones.
constexpr size_t kConsidered = 32;
constexpr size_t kMostNodes = 24;
/// A layer joins a block when at most so many nodes come with it: what lies between, and itself.
constexpr size_t kMostSteps = 4;

}  // namespace

std::vector<Nodes> harmful_blocks(const ir::Graph& graph, const std::vector<ir::NodeId>& worst_first,
                                  const BlockLimits& limits) {
  std::vector<Nodes> blocks;
  Nodes taken;
  const std::vector<ir::NodeId> considered(
      worst_first.begin(),
      worst_first.begin() + static_cast<std::ptrdiff_t>(std::min(kConsidered, worst_first.size())));
  for (const ir::NodeId seed : considered) {
    if (blocks.size() >= limits.most) break;
    ir::Islands block(graph, {.most = 1, .mac_share = limits.mac_share, .barred = taken});
    if (taken.contains(seed) || !block.add({seed})) continue;
    for (const ir::NodeId layer : considered) {
      if (taken.contains(layer)) continue;
      ir::Islands grown = block;
      const bool is_near = grown.add({layer}) && grown.nodes().size() <= block.nodes().size() + kMostSteps;
      if (is_near && grown.nodes().size() <= kMostNodes) block = std::move(grown);
    }
    taken.insert(block.nodes().begin(), block.nodes().end());
    blocks.push_back(block.nodes());
  }
  return blocks;
}

LayerBlock described(const Nodes& block, const ir::Graph& loaded, const ir::Graph& graph) {
  LayerBlock made;
  made.mac_share = ir::mac_share(graph, block);
  for (const ir::NodeId id : graph.order()) {
    if (!block.contains(id)) continue;
    made.last = loaded_label(loaded, graph, id);
    if (made.first.empty()) made.first = made.last;
    for (std::string& name : loaded_names(loaded, graph.node(id))) {
      if (std::ranges::find(made.names, name) == made.names.end()) made.names.push_back(std::move(name));
    }
  }
  return made;
}

}  // namespace quarkq::pipeline

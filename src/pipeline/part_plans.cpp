// SPDX-License-Identifier: MIT
#include "pipeline/part_plans.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ir/graph_analysis.h"
#include "ir/parts.h"
#include "pipeline/facts.h"
#include "pipeline/trial.h"

namespace quarkq::pipeline {

std::vector<std::string> loaded_names(const ir::Graph& loaded, const ir::Node& node) {
  std::vector<std::string> names;
  for (const ir::NodeId origin : node.origins) {
    if (!loaded.node(origin).name.empty()) names.push_back(loaded.node(origin).name);
  }
  return names;
}

std::vector<ir::NodeId> PartPlans::candidates() const {
  std::vector<ir::NodeId> found;
  const auto has = [&](ir::ValueId value) { return value.valid() && state_.plan.has(value); };
  for (const ir::NodeId id : state_.graph().order()) {
    const ir::Node& node = state_.graph().node(id);
    if (state_.selection.selects(node) && (std::any_of(node.inputs.begin(), node.inputs.end(), has) ||
                                           std::any_of(node.outputs.begin(), node.outputs.end(), has)))
      found.push_back(id);
  }
  return found;
}

void PartPlans::leave(const Nodes& quantized, plan::QuantPlan& plan) const {
  std::set<ir::ValueId> touched;
  for (const ir::NodeId id : quantized) {
    const ir::Node& node = state_.graph().node(id);
    touched.insert(node.inputs.begin(), node.inputs.end());
    touched.insert(node.outputs.begin(), node.outputs.end());
  }
  plan.remove_if([&](const plan::QuantSlot& slot) { return !touched.contains(slot.value); });
  std::erase_if(plan.extras, [&](const plan::ExtraStage& extra) {
    return !quantized.contains(extra.node) || !plan.has(extra.value);
  });
}

Result<Agreement> PartPlans::quantize_only(const Nodes& quantized) const {
  RunState state = trial_of(state_);
  leave(quantized, state.plan);
  RunnerOptions options;
  options.skip = {"compensate-rounding", "mix-precision", "finetune-weights"};
  QQ_TRY(const Trial trial, run_trial(std::move(state), pass::Phase::kRestructure, expected_, options));
  return trial.outputs;
}

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

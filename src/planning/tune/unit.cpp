// SPDX-License-Identifier: MIT
#include "planning/tune/unit.h"

#include <algorithm>
#include <optional>

#include "plan/lowering/lower.h"
#include "planning/tune/tape_op.h"

namespace quarkq::planning::finetune {

namespace {

/// Nodes in the order in which they joined, and what leaves them.
class Region {
 public:
  Region(const ir::Graph& graph, ir::ValueId start) : graph_(graph), start_(start) {}

  bool has(ir::ValueId value) const {
    return value == start_ || std::find(made_.begin(), made_.end(), value) != made_.end();
  }
  void add(const ir::Node& node) {
    nodes_.push_back(node.id);
    made_.push_back(node.output(0));
    open_.push_back(graph_.use_count(node.output(0)));
    if (std::count(node.inputs.begin(), node.inputs.end(), start_) > 0) ++readers_;
    for (const ir::ValueId input : node.inputs) {
      const auto found = std::find(made_.begin(), made_.end(), input);
      if (found != made_.end()) --open_[static_cast<size_t>(found - made_.begin())];
    }
  }
  /// The only value with readers outside; nothing when there are more.
  std::optional<ir::ValueId> exit() const {
    std::optional<ir::ValueId> found;
    for (size_t i = 0; i < made_.size(); ++i) {
      if (open_[i] == 0) continue;
      if (found) return {};
      found = made_[i];
    }
    return found;
  }
  const std::vector<ir::NodeId>& nodes() const { return nodes_; }
  size_t readers_of_start() const { return readers_; }

 private:
  const ir::Graph& graph_;
  ir::ValueId start_;
  std::vector<ir::NodeId> nodes_;
  std::vector<ir::ValueId> made_;
  std::vector<size_t> open_;  ///< reads of `made_` from outside
  size_t readers_ = 0;
};

class BlockFinder {
 public:
  BlockFinder(const std::vector<Layer>& layers, const ir::Graph& quantized, const ir::Graph& original)
      : layers_(layers),
        graph_(quantized),
        original_(original),
        is_constant_(constant_values(quantized)),
        layer_of_(quantized.node_count(), -1),
        is_taken_(quantized.node_count()),
        place_(quantized.node_count()) {
    for (size_t i = 0; i < layers.size(); ++i) layer_of_[index_of(layers[i].node)] = static_cast<int>(i);
    const auto& order = quantized.order();
    for (size_t i = 0; i < order.size(); ++i) place_[index_of(order[i])] = i;
  }

  std::vector<Unit> find() {
    std::vector<Unit> units;
    for (const Layer& layer : layers_) {
      if (is_taken_[index_of(layer.node)]) continue;
      units.push_back(block_from(layer));
      for (const Layer* inside : units.back().layers) is_taken_[index_of(inside->node)] = true;
    }
    return units;
  }

 private:
  /// How a region could end: so many of its nodes, and so many layers in them.
  struct End {
    size_t nodes = 0, layers = 0;
    ir::ValueId value, target;
  };

  Unit block_from(const Layer& first) const {
    Unit unit = unit_of(first, graph_);
    Region region(graph_, unit.start);
    const std::optional<End> end = grow(first, region);
    if (!end) return unit;
    unit.nodes.assign(region.nodes().begin(), region.nodes().begin() + static_cast<std::ptrdiff_t>(end->nodes));
    unit.layers.clear();
    for (const ir::NodeId id : unit.nodes)
      if (const int layer = layer_of_[index_of(id)]; layer >= 0)
        unit.layers.push_back(&layers_[static_cast<size_t>(layer)]);
    unit.end = end->value;
    unit.target = end->target;
    if (unit.layers.size() > 1)
      unit.label = cat(first.label, " to ", unit.layers.back()->label, " (", unit.layers.size(), " layers)");
    return unit;
  }

  /// The first step at which two reads of the start came together, else the last one on an unbranched way.
  std::optional<End> grow(const Layer& first, Region& region) const {
    const bool forks = graph_.use_count(unit_of(first, graph_).start) > 1;
    std::optional<End> joined, chain;
    bool is_chain = true;
    size_t layers = 0;
    const auto& order = graph_.order();
    for (size_t i = place_[index_of(first.node)]; i < order.size(); ++i) {
      const ir::Node& node = graph_.node(order[i]);
      if (!can_join(node, first, region)) continue;
      const bool is_layer = layer_of_[index_of(node.id)] >= 0;
      if (joined && is_layer) break;
      if (is_layer && ++layers > (forks ? kMostLayers : kChainLayers)) break;
      if (region.nodes().size() == kMostNodes) break;
      region.add(node);
      const std::optional<ir::ValueId> exit = region.exit();
      if (joined && (!exit || !is_unary_op(graph_, node))) break;
      if (!exit) continue;
      const std::optional<ir::ValueId> target = target_of(*exit);
      if (!target) continue;
      const End end{region.nodes().size(), layers, *exit, *target};
      if (joined || (forks && region.readers_of_start() > 1)) joined = end;
      if (is_chain && layers <= kChainLayers) chain = end;
      is_chain = is_chain && graph_.use_count(*exit) == 1;
      if (!is_chain && !forks) break;
      if (joined && graph_.use_count(*exit) > 1) break;
    }
    return joined ? joined : chain;
  }

  bool can_join(const ir::Node& node, const Layer& first, const Region& region) const {
    if (is_taken_[index_of(node.id)] || !node.captures.empty() || !node.output(0).valid()) return false;
    for (size_t i = 1; i < node.outputs.size(); ++i)
      if (node.outputs[i].valid()) return false;
    bool reads_region = false;
    for (const ir::ValueId input : node.inputs) {
      if (!input.valid() || is_constant_[index_of(input)]) continue;
      if (!region.has(input)) return false;
      reads_region = true;
    }
    if (!reads_region || find_tape_op(graph_, node) == nullptr) return false;
    if (!is_layer_op(node)) return true;
    const int layer = layer_of_[index_of(node.id)];
    return layer >= 0 && layers_[static_cast<size_t>(layer)].is_channels_last() == first.is_channels_last();
  }

  /// Returns the value of the float model at `exit`: the value that a quantizer there reads, computed by the same node,
  /// or by an activation after it that the range replaced.
  std::optional<ir::ValueId> target_of(ir::ValueId exit) const {
    const ir::Node* mine = graph_.producer(exit);
    if (mine != nullptr && mine->op == plan::kFakeQuantize) {
      exit = mine->input(0);
      mine = graph_.producer(exit);
    }
    if (mine == nullptr || index_of(exit) >= original_.value_count() || !original_.is_alive(exit)) return {};
    const ir::Node* theirs = original_.producer(exit);
    if (theirs == nullptr) return {};
    if (theirs->id == mine->id) return theirs->op == mine->op ? std::optional(exit) : std::nullopt;
    const ir::Node* before = is_unary_op(original_, *theirs) ? original_.producer(theirs->input(0)) : nullptr;
    const bool same = before != nullptr && before->id == mine->id && before->op == mine->op;
    return same ? std::optional(exit) : std::nullopt;
  }

  const std::vector<Layer>& layers_;
  const ir::Graph &graph_, &original_;
  std::vector<bool> is_constant_;
  std::vector<int> layer_of_;  ///< Indexed by node.
  std::vector<bool> is_taken_;
  std::vector<size_t> place_;  ///< Position in the order, by node.
};

}  // namespace

std::vector<bool> constant_values(const ir::Graph& graph) {
  std::vector<bool> is_constant(graph.value_count());
  for (const ir::ValueId id : graph.initializers()) is_constant[index_of(id)] = true;
  for (const ir::NodeId id : graph.order()) {
    const ir::Node& node = graph.node(id);
    bool all = node.captures.empty();
    for (const ir::ValueId input : node.inputs) all = all && (!input.valid() || is_constant[index_of(input)]);
    for (const ir::ValueId output : node.outputs)
      if (output.valid()) is_constant[index_of(output)] = all;
  }
  return is_constant;
}

Unit unit_of(const Layer& layer, const ir::Graph& quantized) {
  Unit unit;
  unit.label = layer.label;
  unit.layers = {&layer};
  unit.start = quantized.node(layer.node).input(0);
  unit.end = layer.end;
  unit.float_start = layer.exact.start;
  unit.target = layer.exact.end;
  unit.channels_last = layer.is_channels_last();
  return unit;
}

std::vector<Unit> find_blocks(const std::vector<Layer>& layers, const ir::Graph& quantized, const ir::Graph& original) {
  return BlockFinder(layers, quantized, original).find();
}

}  // namespace quarkq::planning::finetune

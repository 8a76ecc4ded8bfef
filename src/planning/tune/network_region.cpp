// SPDX-License-Identifier: MIT
#include <algorithm>

#include "planning/tune/network.h"
#include "planning/tune/tape_op.h"

namespace quarkq::planning::finetune {
namespace {

class NetworkFinder {
 public:
  NetworkFinder(const std::vector<Layer>& layers, const ir::Graph& graph, const std::set<ir::NodeId>& barred)
      : graph_(graph),
        barred_(barred),
        layer_of_(graph.node_count(), nullptr),
        is_constant_(constant_values(graph)),
        leads_to_layer_(graph.value_count()),
        is_before_(graph.value_count()),
        is_after_(graph.value_count()) {
    for (const Layer& layer : layers) layer_of_[index_of(layer.node)] = &layer;
  }

  Result<Network> find() {
    find_before();
    find_after();
    for (const ir::NodeId id : graph_.order()) {
      const ir::Node& node = graph_.node(id);
      if (is_outside(node)) continue;
      network_.region.nodes.push_back(id);
      if (const Layer* layer = layer_of_[index_of(id)]) network_.region.layers.push_back(layer);
    }
    if (network_.region.layers.empty())
      return unsupported(network_.barriers.empty()
                             ? "no layer can be learned"
                             : cat("no layer follows ", network_.barriers.back(), ", which has no backward function"));
    find_borders();
    network_.region.channels_last = true;
    network_.region.one_layout = false;
    return std::move(network_);
  }

 private:
  bool is_constant_node(const ir::Node& node) const {
    return !node.output(0).valid() || is_constant_[index_of(node.output(0))];
  }
  bool is_known(const ir::Node& node) const {
    return !barred_.contains(node.id) && node.captures.empty() && find_tape_row(graph_, node) != nullptr;
  }
  bool is_outside(const ir::Node& node) const {
    return is_constant_node(node) || is_before_[index_of(node.output(0))] || is_after_[index_of(node.output(0))];
  }

  /// Marks what precedes an unknown node that a layer follows, from the last node to the first.
  void find_before() {
    const auto& order = graph_.order();
    for (auto id = order.rbegin(); id != order.rend(); ++id) {
      const ir::Node& node = graph_.node(*id);
      if (is_constant_node(node)) continue;
      bool leads = layer_of_[index_of(*id)] != nullptr, is_before = false, is_followed = false;
      for (const ir::ValueId output : node.outputs) {
        if (!output.valid()) continue;
        is_followed = is_followed || leads_to_layer_[index_of(output)];
        is_before = is_before || is_before_[index_of(output)];
      }
      leads = leads || is_followed;
      const bool is_barrier = !is_known(node) && is_followed;
      if (is_barrier && !is_before) network_.barriers.push_back(graph_.label(*id));
      is_before = is_before || is_barrier;
      for (const ir::ValueId output : node.outputs)
        if (output.valid()) is_before_[index_of(output)] = is_before;
      for (const ir::ValueId input : node.inputs) {
        if (!input.valid()) continue;
        leads_to_layer_[index_of(input)] = leads_to_layer_[index_of(input)] || leads;
        is_before_[index_of(input)] = is_before_[index_of(input)] || is_before;
      }
    }
  }

  /// Marks unknown nodes after the last layers, and what reads them.
  void find_after() {
    for (const ir::NodeId id : graph_.order()) {
      const ir::Node& node = graph_.node(id);
      if (is_constant_node(node) || is_before_[index_of(node.output(0))]) continue;
      bool is_after = !is_known(node);
      for (const ir::ValueId input : node.inputs) is_after = is_after || (input.valid() && is_after_[index_of(input)]);
      for (const ir::ValueId output : node.outputs)
        if (output.valid()) is_after_[index_of(output)] = is_after;
    }
  }

  /// Starts are read in the region and made outside. Ends are made in it, and read outside or outputs.
  void find_borders() {
    TapeRegion& region = network_.region;
    std::vector<bool> is_made(graph_.value_count());
    for (const ir::NodeId id : region.nodes)
      for (const ir::ValueId output : graph_.node(id).outputs)
        if (output.valid()) is_made[index_of(output)] = true;
    const auto add = [](std::vector<ir::ValueId>& list, ir::ValueId value) {
      if (std::find(list.begin(), list.end(), value) == list.end()) list.push_back(value);
    };
    for (const ir::NodeId id : graph_.order()) {
      const ir::Node& node = graph_.node(id);
      if (is_constant_node(node)) continue;
      for (const ir::ValueId input : node.inputs) {
        if (!input.valid() || is_constant_[index_of(input)]) continue;
        if (!is_outside(node) && !is_made[index_of(input)]) add(region.starts, input);
        if (is_outside(node) && is_made[index_of(input)]) add(region.ends, input);
      }
    }
    for (const ir::ValueId output : graph_.outputs())
      if (is_made[index_of(output)]) add(region.ends, output);
  }

  const ir::Graph& graph_;
  const std::set<ir::NodeId>& barred_;
  std::vector<const Layer*> layer_of_;                                     ///< Keyed by node.
  std::vector<bool> is_constant_, leads_to_layer_, is_before_, is_after_;  ///< Keyed by value.
  Network network_;
};

}  // namespace

Result<Network> find_network(const std::vector<Layer>& layers, const ir::Graph& quantized,
                             const std::set<ir::NodeId>& barred) {
  return NetworkFinder(layers, quantized, barred).find();
}

}  // namespace quarkq::planning::finetune

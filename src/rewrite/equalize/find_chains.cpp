// SPDX-License-Identifier: MIT
// The walks that find pairs and triples, and the reference's order of them (ref:equalization#pairs,
// ref:equalization#order-of-patterns).
#include <algorithm>

#include "rewrite/equalize/patterns.h"

namespace quarkq::rewrite {
namespace {

using ir::Graph;
using ir::Node;

bool is_layer(const Node& node) { return node.is("Conv") || node.is("Gemm"); }

bool passes_scale(const Node& node) {
  return node.is("Relu") || node.is("LeakyRelu") || node.is("ReduceMean") || node.is("Pad");
}

/// Plain or depthwise; other grouped Convs mix channels in blocks.
bool is_supported(const Graph& graph, const Node& layer) {
  const int64_t group = layer.int_or("group", 1);
  if (layer.is("Gemm") || group == 1) return true;
  const ir::Tensor* weights = graph.constant(layer.input(1));
  return weights != nullptr && weights->rank() >= 2 && weights->dims()[0] == group && weights->dims()[1] == 1;
}

/// The layer that reads `node`'s result, after operators that pass a scale on; null when there is none to equalize.
const Node* next_layer(const Graph& graph, const plan::Selection& selection, const Node& node) {
  const Node* next = only_consumer(graph, node);
  while (next != nullptr && passes_scale(*next)) next = only_consumer(graph, *next);
  const bool is_found = next != nullptr && is_layer(*next) && selection.selects(*next) && is_supported(graph, *next);
  return is_found ? next : nullptr;
}

void find_pairs(const Graph& graph, const plan::Selection& selection, std::vector<LayerChain>& chains) {
  for (const ir::NodeId id : graph.order()) {
    const Node& head = graph.node(id);
    if (!is_layer(head) || !selection.selects(head)) continue;
    const Node* tail = next_layer(graph, selection, head);
    if (tail == nullptr) continue;
    // The reference forgets a head that it cannot scale when the tail has the attribute group: such a pair takes its
    // place in the order, where the first and last count, and is left alone later.
    const bool tail_says_group = tail->is("Conv") && tail->find("group") != nullptr;
    if (is_supported(graph, head) || tail_says_group) chains.push_back({id, tail->id});
  }
}

/// group 1, then as many groups as outputs, then group 1, all written out.
bool is_triple(const Graph& graph, const LayerChain& convs) {
  for (const ir::NodeId id : convs) {
    if (graph.node(id).find("group") == nullptr) return false;
  }
  const Node& middle = graph.node(convs[1]);
  const int64_t group = middle.int_or("group", 1);
  const ir::Tensor* weights = graph.constant(middle.input(1));
  return graph.node(convs[0]).int_or("group", 1) == 1 && graph.node(convs[2]).int_or("group", 1) == 1 && group > 1 &&
         weights != nullptr && weights->rank() >= 2 && weights->dims()[0] % group == 0 &&
         weights->dims()[0] / group == weights->dims()[1];
}

void find_triples(const Graph& graph, const plan::Selection& selection, std::vector<LayerChain>& chains) {
  auto is_conv = [&](const Node& node) { return node.is("Conv") && selection.selects(node); };
  for (const ir::NodeId id : graph.order()) {
    if (!is_conv(graph.node(id))) continue;
    LayerChain convs = {id};
    const Node* next = only_consumer(graph, graph.node(id));
    while (next != nullptr && convs.size() < 3 && (next->is("Relu") || is_conv(*next))) {
      if (next->is("Conv")) convs.push_back(next->id);
      next = only_consumer(graph, *next);
    }
    if (convs.size() == 3 && is_triple(graph, convs)) chains.push_back(convs);
  }
}

}  // namespace

const Node* only_consumer(const Graph& graph, const Node& node) {
  ir::NodeId found;
  for (const ir::ValueId output : node.outputs) {
    if (!output.valid()) continue;
    for (const ir::Use& use : graph.value(output).uses) {
      if (use.is_capture || use.node == found) continue;
      if (found.valid()) return nullptr;
      found = use.node;
    }
  }
  return found.valid() ? &graph.node(found) : nullptr;
}

std::vector<LayerChain> find_chains(const Graph& graph, const plan::Selection& selection) {
  std::vector<LayerChain> chains;
  find_pairs(graph, selection, chains);
  find_triples(graph, selection, chains);
  return chains;
}

std::vector<LayerChain> find_clipped_pairs(const Graph& graph, const plan::Selection& selection) {
  std::vector<LayerChain> pairs;
  for (const ir::NodeId id : graph.order()) {
    const Node& head = graph.node(id);
    if (!is_layer(head) || !selection.selects(head) || !is_supported(graph, head)) continue;
    const Node* clip = only_consumer(graph, head);
    if (clip == nullptr || !clip->is("Clip")) continue;
    if (const Node* tail = next_layer(graph, selection, *clip)) pairs.push_back({id, tail->id});
  }
  return pairs;
}

std::vector<LayerChain> order_chains(const Graph& graph, const std::vector<LayerChain>& chains) {
  std::vector<std::vector<size_t>> by_head(graph.node_count());
  for (size_t i = 0; i < chains.size(); ++i) by_head[static_cast<size_t>(chains[i][0].index)].push_back(i);
  std::vector<LayerChain> ordered;
  for (const ir::NodeId id : graph.order()) {
    for (const size_t i : by_head[static_cast<size_t>(id.index)]) {
      // Intended: the first chain is added here and once more below, as in the reference.
      if (ordered.empty()) ordered.push_back(chains[i]);
      const bool at_end = ordered.back().size() > chains[i].size();
      ordered.insert(at_end ? ordered.end() : ordered.end() - 1, chains[i]);
    }
  }
  return ordered;
}

}  // namespace quarkq::rewrite

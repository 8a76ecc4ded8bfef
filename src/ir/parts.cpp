// SPDX-License-Identifier: MIT
#include "ir/parts.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string_view>

#include "ir/edit.h"
#include "ir/graph_analysis.h"
#include "ir/traversal.h"

namespace quarkq::ir {

namespace {

class Extraction {
 public:
  explicit Extraction(const Graph& whole) : whole_(whole), edit_(part_.graph) {}

  Part run(const std::vector<ValueId>& feeds, const std::vector<ValueId>& fetches) {
    for (const ValueId feed : feeds) part_.feeds.push_back(input(feed));
    for (const NodeId id : needed_nodes(fetches)) add(whole_.node(id));
    for (const ValueId fetch : fetches) {
      part_.fetches.push_back(made(fetch));
      edit_.add_graph_output(part_.fetches.back());
    }
    return std::move(part_);
  }

 private:
  /// Returns the nodes in the order of ids; the caller sorts them for execution.
  std::set<NodeId> needed_nodes(const std::vector<ValueId>& fetches) const {
    std::set<NodeId> nodes;
    std::vector<ValueId> open = fetches;
    while (!open.empty()) {
      const ValueId value = open.back();
      open.pop_back();
      const Node* producer = value.valid() && !known_.contains(value) ? whole_.producer(value) : nullptr;
      if (producer == nullptr || !nodes.insert(producer->id).second) continue;
      open.insert(open.end(), producer->inputs.begin(), producer->inputs.end());
      for (const Capture& capture : producer->captures) open.push_back(capture.outer);
    }
    return nodes;
  }

  ValueId input(ValueId value) {
    const auto [place, is_new] = known_.try_emplace(value);
    if (!is_new) return place->second;
    place->second = edit_.add_value(whole_.value(value).name, whole_.value(value).type);
    edit_.add_graph_input(place->second);
    return place->second;
  }

  /// Returns the value in the part, created on first use.
  ValueId made(ValueId value) {
    if (!value.valid()) return value;
    if (const auto known = known_.find(value); known != known_.end()) return known->second;
    const Value& original = whole_.value(value);
    if (!original.constant && !original.producer.valid()) return input(value);
    const ValueId own = original.constant ? edit_.add_initializer(original.name, *original.constant)
                                          : edit_.add_value(original.name, original.type);
    known_[value] = own;
    return own;
  }

  void add(const Node& node) {
    NodeSpec spec{node.op, node.domain, node.name, {}, {}, node.attributes};
    for (const ValueId value : node.inputs) spec.inputs.push_back(made(value));
    for (const ValueId value : node.outputs) {
      // An output that is fed is not computed a second time.
      const bool is_fed = std::ranges::find(part_.feeds, made(value)) != part_.feeds.end();
      spec.outputs.push_back(is_fed ? ValueId{} : made(value));
    }
    std::vector<Capture> captures = node.captures;
    for (Capture& capture : captures) capture.outer = made(capture.outer);
    const NodeId own = edit_.add_node(std::move(spec));
    if (!captures.empty()) edit_.set_captures(own, std::move(captures));
  }

  const Graph& whole_;
  Part part_;
  GraphEdit edit_;
  std::map<ValueId, ValueId> known_;  ///< values of the whole graph that the part has
};

}  // namespace

Part part_of(const Graph& whole, const std::vector<ValueId>& feeds, const std::vector<ValueId>& fetches) {
  return Extraction(whole).run(feeds, fetches);
}

namespace {

constexpr std::string_view kLayers[] = {"Conv", "ConvTranspose", "Gemm", "MatMul", "LSTM", "GRU", "RNN"};
constexpr std::string_view kActivations[] = {"Relu", "LeakyRelu", "PRelu", "Clip", "BatchNormalization"};
constexpr std::string_view kDecoding[] = {"Concat", "Split", "Slice",   "Gather",           "GatherND",
                                          "TopK",   "Exp",   "NonZero", "NonMaxSuppression"};

template <size_t N>
bool is_one_of(const Node& node, const std::string_view (&ops)[N]) {
  return node.domain.empty() && std::find(std::begin(ops), std::end(ops), node.op) != std::end(ops);
}

/// A Conv with one output channel and a 1 x 1 kernel after a Softmax: the mean of a distribution over bins.
bool weighs_bins(const Graph& graph, const Node& node) {
  if (!node.is("Conv") || !node.input(1).valid()) return false;
  const std::vector<Dim>& dims = graph.value(node.input(1)).type.dims;
  const bool is_one_by_one = dims.size() == 4 && dims[0].size == 1 && dims[2].size == 1 && dims[3].size == 1;
  const Node* before = graph.producer(node.input(0));
  for (int i = 0; i < 2 && before != nullptr && before->is("Transpose"); ++i) before = graph.producer(before->input(0));
  return is_one_by_one && before != nullptr && before->is("Softmax");
}

/// The values that depend on what a caller feeds.
std::set<ValueId> computed_values(const Graph& graph) {
  const std::vector<ValueId> inputs = graph.required_inputs();
  std::set<ValueId> computed(inputs.begin(), inputs.end());
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    const auto is_computed = [&](ValueId value) { return computed.contains(value); };
    if (std::ranges::any_of(node.inputs, is_computed) ||
        std::ranges::any_of(node.captures, is_computed, &Capture::outer))
      computed.insert(node.outputs.begin(), node.outputs.end());
  }
  return computed;
}

/// Returns whether the node is a layer; a product of two activations is not.
bool is_layer(const Graph& graph, const Node& node, const std::set<ValueId>& computed) {
  const bool has_weights = !computed.contains(node.input(0)) || !computed.contains(node.input(1));
  return has_layer_op(node) && has_weights && !weighs_bins(graph, node);
}

/// A stored tensor with one value per channel at most.
bool is_vector(const Graph& graph, ValueId value) {
  const Tensor* stored = value.valid() ? graph.constant(value) : nullptr;
  return stored != nullptr && std::ranges::count_if(stored->dims(), [](int64_t dim) { return dim != 1; }) <= 1;
}

/// Returns the value that an activation, or the addition of a bias, transforms. Returns an invalid id for other nodes.
ValueId transformed_value(const Graph& graph, const Node& node) {
  if (is_one_of(node, kActivations)) return node.input(0);
  if (!node.is("Add")) return {};
  return is_vector(graph, node.input(0)) ? node.input(1) : is_vector(graph, node.input(1)) ? node.input(0) : ValueId();
}

/// The only reader of a value that is made by none of the tail's nodes.
bool is_activation_of_layer(const Graph& graph, const Node& node, const std::set<NodeId>& tail) {
  const ValueId value = transformed_value(graph, node);
  if (!value.valid() || graph.use_count(value) != 1) return false;
  const Node* source = graph.producer(value);
  return source != nullptr && !tail.contains(source->id);
}

/// Returns the nodes from which no layer is reachable, in reverse node order.
std::set<NodeId> nodes_after_layers(const Graph& graph) {
  const std::set<ValueId> computed = computed_values(graph);
  std::set<NodeId> before;  // layers, and what leads to them
  for (auto id = graph.order().rbegin(); id != graph.order().rend(); ++id) {
    const Node& node = graph.node(*id);
    const auto leads = [&](ValueId output) {
      if (!output.valid()) return false;
      const std::vector<Use>& uses = graph.value(output).uses;
      return std::any_of(uses.begin(), uses.end(), [&](const Use& use) { return before.contains(use.node); });
    };
    if (is_layer(graph, node, computed) || std::any_of(node.outputs.begin(), node.outputs.end(), leads))
      before.insert(*id);
  }
  std::set<NodeId> after;
  for (const NodeId id : graph.order()) {
    if (!before.contains(id)) after.insert(id);
  }
  return before.empty() ? std::set<NodeId>() : after;
}

std::vector<ValueId> inputs_of(const Graph& graph, const std::set<NodeId>& nodes) {
  std::vector<ValueId> inputs;
  const auto take = [&](ValueId value) {
    if (!value.valid() || graph.constant(value) != nullptr) return;
    const Node* source = graph.producer(value);
    const bool is_inside = source != nullptr && nodes.contains(source->id);
    if (!is_inside && std::find(inputs.begin(), inputs.end(), value) == inputs.end()) inputs.push_back(value);
  };
  for (const NodeId id : graph.order()) {
    if (!nodes.contains(id)) continue;
    for (const ValueId input : graph.node(id).inputs) take(input);
    for (const Capture& capture : graph.node(id).captures) take(capture.outer);
  }
  return inputs;
}

}  // namespace

bool has_layer_op(const Node& node) { return is_one_of(node, kLayers); }

Tail find_ending(const Graph& graph) {
  Tail ending{nodes_after_layers(graph), {}};
  for (const NodeId id : graph.order()) {
    if (ending.nodes.contains(id) && is_activation_of_layer(graph, graph.node(id), ending.nodes))
      ending.nodes.erase(id);
  }
  ending.inputs = inputs_of(graph, ending.nodes);
  return ending;
}

namespace {

/// Exporters put the selection of boxes into branches as well.
bool has_decoding(const Node& node) {
  if (is_one_of(node, kDecoding)) return true;
  return std::ranges::any_of(nested_graphs(node), [](const Graph* nested) {
    return std::ranges::any_of(nested->order(), [&](NodeId id) { return has_decoding(nested->node(id)); });
  });
}

}  // namespace

bool decodes(const Graph& graph, const Tail& tail) {
  return std::ranges::any_of(tail.nodes, [&](NodeId id) { return has_decoding(graph.node(id)); });
}

Tail find_tail(const Graph& graph) {
  Tail ending = find_ending(graph);
  return decodes(graph, ending) ? ending : Tail();
}

Tail part_from(const Graph& graph, const Tail& ending, const std::set<NodeId>& nodes) {
  Tail part;
  std::vector<NodeId> open(nodes.begin(), nodes.end());
  while (!open.empty()) {
    const NodeId id = open.back();
    open.pop_back();
    if (!ending.nodes.contains(id) || !part.nodes.insert(id).second) continue;
    for (const ValueId output : graph.node(id).outputs) {
      if (!output.valid()) continue;
      for (const Use& use : graph.value(output).uses) open.push_back(use.node);
    }
  }
  part.inputs = inputs_of(graph, part.nodes);
  return part;
}

namespace {

using Mask = std::vector<uint8_t>;

Mask unite(Mask a, const Mask& b) {
  for (size_t i = 0; i < a.size(); ++i) a[i] |= b[i];
  return a;
}

Mask intersect(Mask a, const Mask& b) {
  for (size_t i = 0; i < a.size(); ++i) a[i] &= b[i];
  return a;
}

}  // namespace

Islands::Islands(const Graph& graph, const IslandLimits& limits)
    : limits_(limits), order_(graph.order().begin(), graph.order().end()) {
  std::map<NodeId, uint32_t> places;
  for (const NodeId id : order_) places.emplace(id, static_cast<uint32_t>(places.size()));
  readers_.resize(order_.size());
  sources_.resize(order_.size());
  mask_.resize(order_.size());
  for (uint32_t place = 0; place < order_.size(); ++place) {
    const Node& node = graph.node(order_[place]);
    macs_.push_back(macs_of(graph, node));
    for (const ValueId output : node.outputs) {
      if (!output.valid()) continue;
      for (const Use& use : graph.value(output).uses) {
        const auto reader = places.find(use.node);
        if (reader == places.end()) continue;
        readers_[place].push_back(reader->second);
        sources_[reader->second].push_back(place);
      }
    }
  }
  all_macs_ = macs_of(graph);
}

bool Islands::add(const std::set<NodeId>& nodes) {
  Mask grown = mask_;
  for (size_t i = 0; i < order_.size(); ++i) grown[i] |= nodes.contains(order_[i]) ? 1 : 0;
  if (limits_.most > 0 && !limit_count(grown)) return false;
  if (share_of(grown) > limits_.mac_share) return false;
  std::vector<NodeId> joining;
  for (size_t i = 0; i < order_.size(); ++i) {
    if (grown[i] && !mask_[i]) joining.push_back(order_[i]);
  }
  if (std::any_of(joining.begin(), joining.end(), [&](NodeId id) { return limits_.barred.contains(id); })) return false;
  mask_ = std::move(grown);
  nodes_.insert(joining.begin(), joining.end());
  joined_.insert(joined_.end(), joining.begin(), joining.end());
  return true;
}

size_t Islands::count() const { return parts(mask_).size(); }

/// The nodes of `from` and all that the edges lead to.
Islands::Mask Islands::reach(Mask from, const Edges& edges) const {
  std::vector<uint32_t> open;
  for (uint32_t i = 0; i < from.size(); ++i) {
    if (from[i]) open.push_back(i);
  }
  while (!open.empty()) {
    const uint32_t place = open.back();
    open.pop_back();
    for (const uint32_t next : edges[place]) {
      if (from[next]) continue;
      from[next] = 1;
      open.push_back(next);
    }
  }
  return from;
}

/// With every node on a path from one of the nodes to another.
Islands::Mask Islands::hull(const Mask& part) const { return intersect(reach(part, readers_), reach(part, sources_)); }

std::vector<Islands::Mask> Islands::parts(const Mask& mask) const {
  std::vector<Mask> found;
  Mask left = mask;
  for (uint32_t first = 0; first < left.size(); ++first) {
    if (!left[first]) continue;
    Mask part(mask.size());
    std::vector<uint32_t> open = {first};
    left[first] = 0;
    while (!open.empty()) {
      const uint32_t place = open.back();
      open.pop_back();
      part[place] = 1;
      for (const Edges* edges : {&readers_, &sources_}) {
        for (const uint32_t next : (*edges)[place]) {
          if (!left[next]) continue;
          left[next] = 0;
          open.push_back(next);
        }
      }
    }
    found.push_back(std::move(part));
  }
  return found;
}

/// Returns both sets and the nodes between them; with parallel branches also the node where they join or split. Returns
/// an empty set if they are not connected.
Islands::Mask Islands::connect(const Mask& a, const Mask& b) const {
  const Mask both = unite(a, b);
  Mask direct = hull(both);
  if (parts(direct).size() == 1) return direct;
  Mask cheapest;
  const auto take_through = [&](const Mask& common, bool first) {
    const auto place = first ? std::find(common.begin(), common.end(), 1) - common.begin()
                             : std::find(common.rbegin(), common.rend(), 1).base() - common.begin() - 1;
    if (place < 0 || place == static_cast<std::ptrdiff_t>(common.size())) return;
    Mask with = both;
    with[static_cast<size_t>(place)] = 1;
    with = hull(with);
    if (cheapest.empty() || is_cheaper(with, cheapest)) cheapest = std::move(with);
  };
  take_through(intersect(reach(a, readers_), reach(b, readers_)), true);
  take_through(intersect(reach(a, sources_), reach(b, sources_)), false);
  return cheapest;
}

/// Closes holes and connects islands until there are as few as allowed; false where that cannot be done.
bool Islands::limit_count(Mask& mask) const {
  while (true) {
    Mask closed = mask;
    const std::vector<Mask> islands = parts(mask);
    for (const Mask& island : islands) closed = unite(std::move(closed), hull(island));
    if (closed != mask) {
      mask = std::move(closed);
      continue;
    }
    if (islands.size() <= limits_.most) return true;
    Mask cheapest;
    for (size_t i = 0; i < islands.size(); ++i) {
      for (size_t k = i + 1; k < islands.size(); ++k) {
        const Mask connected = connect(islands[i], islands[k]);
        if (connected.empty()) continue;
        Mask with = unite(mask, connected);
        if (cheapest.empty() || is_cheaper(with, cheapest)) cheapest = std::move(with);
      }
    }
    if (cheapest.empty()) return false;
    mask = std::move(cheapest);
  }
}

bool Islands::is_cheaper(const Mask& a, const Mask& b) const {
  const double macs_a = macs_of_mask(a), macs_b = macs_of_mask(b);
  if (macs_a != macs_b) return macs_a < macs_b;
  return std::count(a.begin(), a.end(), 1) < std::count(b.begin(), b.end(), 1);
}

double Islands::macs_of_mask(const Mask& mask) const {
  double sum = 0;
  for (size_t i = 0; i < mask.size(); ++i) sum += mask[i] ? macs_[i] : 0;
  return sum;
}

}  // namespace quarkq::ir

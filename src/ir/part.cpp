// SPDX-License-Identifier: MIT
#include "ir/part.h"

#include <algorithm>
#include <set>

#include "ir/edit.h"

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

  /// The value in the part, made when it is first asked for.
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

}  // namespace quarkq::ir

// SPDX-License-Identifier: MIT
#include "ir/islands.h"

#include <algorithm>
#include <map>

#include "ir/macs.h"

namespace quarkq::ir {
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

/// Both and what lies between them; of parallel branches with the node where they meet or part. Empty without a way.
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

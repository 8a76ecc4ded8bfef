// SPDX-License-Identifier: MIT
#include "targets/regions.h"

#include <algorithm>
#include <numeric>

#include "ir/graph_analysis.h"

namespace quarkq::targets {
namespace {

size_t at(ir::NodeId id) { return static_cast<size_t>(id.index); }

/// The largest number of changes from CPU to NPU on a path to each node, by node id.
std::vector<int> levels_of(const QuantizedView& view, const Groups& groups, const std::vector<bool>& runs) {
  std::vector<int> levels(view.kinds.size(), 0);
  for (const ir::NodeId id : view.operators) {
    for (const ir::NodeId source : view.sources_of(id)) {
      // Shapes are computed before anything runs, and cut nothing.
      const bool is_cut = runs[at(id)] && !runs[at(source)] && !groups.integer(source);
      levels[at(id)] = std::max(levels[at(id)], levels[at(source)] + (is_cut ? 1 : 0));
    }
  }
  return levels;
}

/// Number of the region of each node, by node id, counted in execution order.
std::vector<int> connect(const QuantizedView& view, const Groups& groups, const std::vector<bool>& runs) {
  const std::vector<int> levels = levels_of(view, groups, runs);
  std::vector<size_t> parent(view.kinds.size());
  std::iota(parent.begin(), parent.end(), size_t{0});
  const auto root = [&](size_t item) {
    while (parent[item] != item) item = parent[item] = parent[parent[item]];
    return item;
  };
  for (const ir::NodeId id : view.operators) {
    for (const ir::NodeId source : view.sources_of(id)) {
      if (runs[at(id)] && runs[at(source)] && levels[at(id)] == levels[at(source)])
        parent[root(at(id))] = root(at(source));
    }
  }
  std::vector<int> number(view.kinds.size(), -1), region(view.kinds.size(), -1);
  int count = 0;
  for (const ir::NodeId id : view.operators) {
    if (!runs[at(id)]) continue;
    int& found = number[root(at(id))];
    if (found < 0) found = count++;
    region[at(id)] = found;
  }
  return region;
}

bool has_anchor(const std::vector<std::string>& anchors, const std::string& op) {
  return anchors.empty() || std::find(anchors.begin(), anchors.end(), op) != anchors.end();
}

/// Leaves everything to the CPU when no placed operator is an anchor.
void drop_unanchored(const QuantizedView& view, const std::vector<std::string>& anchors, Placed& placed) {
  for (const ir::NodeId id : view.operators) {
    if (placed.runs[at(id)] && has_anchor(anchors, view.node(id).op)) return;
  }
  placed.lacks_anchor = placed.runs;
  placed.runs.assign(placed.runs.size(), false);
}

std::vector<TargetRegion> describe(const QuantizedView& view, const Placed& placed, const NodeCosts& costs) {
  std::vector<TargetRegion> regions;
  double all = 0;
  for (const ir::NodeId id : view.operators) {
    const double macs = costs.macs[at(id)];
    all += macs;
    const int number = placed.region[at(id)];
    if (number < 0) continue;
    if (static_cast<size_t>(number) == regions.size()) {
      regions.emplace_back();
      regions.back().first = name_of(view, id);
    }
    TargetRegion& region = regions[static_cast<size_t>(number)];
    ++region.operators;
    region.nodes += 1 + costs.pairs.of[at(id)];
    region.mac_share += macs;
    region.last = name_of(view, id);
    ++region.ops[view.op_of(id)];
  }
  for (TargetRegion& region : regions) region.mac_share = all > 0 ? region.mac_share / all : 0;
  return regions;
}

/// Regions below the least share, and the smallest ones beyond the most that the compiler keeps, do not run.
void apply_limits(const config::Cutting& cutting, std::vector<TargetRegion>& regions) {
  const bool has_macs =
      std::any_of(regions.begin(), regions.end(), [](const TargetRegion& one) { return one.mac_share > 0; });
  std::vector<size_t> order(regions.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return regions[a].mac_share > regions[b].mac_share; });
  for (size_t place = 0; place < order.size(); ++place) {
    TargetRegion& region = regions[order[place]];
    const bool is_small = has_macs && 100 * region.mac_share < cutting.least_macs_percent;
    const bool is_beyond = cutting.most_regions > 0 && place >= static_cast<size_t>(cutting.most_regions);
    region.is_running = !is_small && !is_beyond;
  }
}

TargetCounts count(const QuantizedView& view, const RegionPlan& plan, const NodeCosts& costs, bool places_edges) {
  const PairCounts& pairs = costs.pairs;
  TargetCounts counts;
  counts.regions = plan.regions.size();
  double all = 0, on_npu = 0;
  for (const ir::NodeId id : view.operators) {
    const int number = plan.placed.region[at(id)];
    const bool runs = number >= 0 && plan.regions[static_cast<size_t>(number)].is_running;
    const double macs = costs.macs[at(id)];
    all += macs;
    on_npu += runs ? macs : 0;
    if (runs) {
      counts.npu += 1 + pairs.of[at(id)];
    } else {
      ++counts.cpu;
      counts.qdq_cpu += pairs.of[at(id)];
    }
  }
  (places_edges ? counts.npu : counts.qdq_cpu) += pairs.at_edges;
  counts.at_edges = places_edges ? 0 : pairs.at_edges;
  for (const TargetRegion& region : plan.regions) counts.regions_running += region.is_running ? 1 : 0;
  counts.total = counts.npu + counts.cpu + counts.qdq_cpu;
  counts.mac_share = all > 0 ? on_npu / all : (counts.cpu == 0 ? 1 : 0);
  return counts;
}

/// The first operator after the Q or DQ `id`, or an invalid id.
ir::NodeId operator_after(const QuantizedView& view, ir::NodeId id) {
  while (view.kind(id) != NodeKind::kOperator) {
    const ir::Node& node = view.node(id);
    if (!node.output(0).valid() || view.graph().value(node.output(0)).uses.empty()) return {};
    id = view.graph().value(node.output(0)).uses.front().node;
  }
  return id;
}

/// Returns the operator to which a Q belongs: the preceding operator, or for stored tensors the reader.
ir::NodeId owner_of_q(const QuantizedView& view, ir::NodeId id) {
  const ir::ValueId origin = view.before_pairs(view.node(id).input(0));
  if (!origin.valid()) return {};
  if (view.graph().constant(origin) != nullptr) return operator_after(view, id);
  const ir::Node* producer = view.graph().producer(origin);
  return producer != nullptr && view.kind(producer->id) == NodeKind::kOperator ? producer->id : ir::NodeId{};
}

}  // namespace

std::string name_of(const QuantizedView& view, ir::NodeId id) {
  const ir::Node& node = view.node(id);
  if (!node.name.empty() || !node.output(0).valid()) return node.name;
  return view.graph().value(node.output(0)).name;
}

PairCounts count_pairs(const QuantizedView& view) {
  PairCounts counts{std::vector<size_t>(view.kinds.size(), 0), 0};
  const auto add = [&](ir::NodeId owner) { ++(owner.valid() ? counts.of[at(owner)] : counts.at_edges); };
  for (const ir::NodeId id : view.order) {
    if (view.kind(id) == NodeKind::kQuantize) add(owner_of_q(view, id));
    if (view.kind(id) != NodeKind::kDequantize || !view.node(id).output(0).valid()) continue;
    const ir::Value& value = view.graph().value(view.node(id).output(0));
    if (value.is_output || value.uses.empty()) add({});
    for (const ir::Use& use : value.uses) {
      const NodeKind kind = view.kind(use.node);
      add(kind == NodeKind::kOperator   ? use.node
          : kind == NodeKind::kQuantize ? owner_of_q(view, use.node)
                                        : ir::NodeId{});
    }
  }
  return counts;
}

NodeCosts node_costs(const QuantizedView& view) {
  NodeCosts costs{std::vector<double>(view.kinds.size(), 0), count_pairs(view)};
  for (const ir::NodeId id : view.operators) costs.macs[at(id)] = ir::macs_of(view.graph(), view.node(id));
  return costs;
}

RegionPlan plan_regions(const QuantizedView& view, const Groups& groups, const NodeCosts& costs, std::vector<bool> runs,
                        const config::Target& target) {
  RegionPlan plan{{std::move(runs), std::vector<bool>(view.kinds.size(), false), {}}, {}, {}};
  drop_unanchored(view, target.cutting.anchors, plan.placed);
  plan.placed.region = connect(view, groups, plan.placed.runs);
  plan.regions = describe(view, plan.placed, costs);
  apply_limits(target.cutting, plan.regions);
  plan.counts = count(view, plan, costs, target.places_edges);
  return plan;
}

}  // namespace quarkq::targets

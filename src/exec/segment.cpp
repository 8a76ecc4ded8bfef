// SPDX-License-Identifier: MIT
// Where a program ends because it has taken its share of memory, and what the next segment starts from (ADR 0016). All
// choices of the compiler (layouts, fusion, order) are those of one program for the whole graph, so bits are the same.
#include <algorithm>

#include "exec/compiler.h"

namespace quarkq::exec {
namespace {

constexpr int64_t kLeastSpared = 4;  // one part in so many, or a cut is not worth reading its values again

}  // namespace

/// Nodes that read constants only stand right before the first one that needs what they make: weights that are computed
/// (from stored integers, say) belong to the segment that reads them.
std::vector<ir::NodeId> Compiler::folding_order(const std::vector<ir::NodeId>& order, const std::vector<bool>& needed) {
  const auto at = [](ir::NodeId id) { return static_cast<size_t>(id.index); };
  folds_.assign(graph_.node_count(), false);
  std::vector<ir::ValueId> reads;
  for (const ir::NodeId id : order) {
    reads.clear();
    append_reads(graph_.node(id), reads);
    folds_[at(id)] = std::ranges::all_of(reads, [&](ir::ValueId read) {
      const ir::Node* producer = graph_.producer(read);
      return held(read).constant != nullptr || (producer != nullptr && folds_[at(producer->id)]);
    });
  }
  std::vector<ir::NodeId> placed_order, open;
  std::vector<bool> placed(graph_.node_count());
  const auto place = [&](ir::NodeId last) {
    open.push_back(last);
    while (!open.empty()) {
      const ir::NodeId id = open.back();
      const size_t before = open.size();
      reads.clear();
      append_reads(graph_.node(id), reads);
      for (const ir::ValueId read : reads) {
        const ir::Node* producer = held(read).when == When::kUnset ? graph_.producer(read) : nullptr;
        if (producer != nullptr && folds_[at(producer->id)] && !placed[at(producer->id)]) open.push_back(producer->id);
      }
      if (open.size() > before) continue;
      open.pop_back();
      if (!placed[at(id)]) placed_order.push_back(id);
      placed[at(id)] = true;
    }
  };
  for (const bool folds : {false, true}) {
    for (const ir::NodeId id : order) {
      if (needed[at(id)] && folds_[at(id)] == folds && !placed[at(id)]) place(id);
    }
  }
  return placed_order;
}

void Compiler::begin_measuring(const std::vector<bool>& needed) {
  std::vector<ir::ValueId> reads;
  for (const ir::NodeId id : graph_.order()) {
    if (needed[static_cast<size_t>(id.index)]) append_reads(graph_.node(id), reads);
  }
  reads.insert(reads.end(), request_.fetches.begin(), request_.fetches.end());
  for (const ir::ValueId read : reads) meter_.expect_reader(read);
}

/// After the node was added, alone or inside another one.
void Compiler::measure(const ir::Node& node) {
  std::vector<ir::ValueId> values;
  append_reads(node, values);
  const size_t reads = values.size();
  for (const ir::ValueId output : node.outputs) {
    if (output.valid()) values.push_back(output);
  }
  for (const ir::ValueId value : values) {
    const Held& source = held(value);
    if (source.when == When::kNow && source.constant == nullptr)
      meter_.made(value, storage_bytes(source.type, ir::checked_count(source.dims)));
  }
  meter_.use(values);
  for (size_t i = 0; i < reads; ++i) meter_.read(values[i]);
}

bool Compiler::ends_segment(const std::vector<ir::NodeId>& order, const std::vector<bool>& needed, size_t next) const {
  if (meter_.total() <= request_.segment_bytes || program_.steps_.empty()) return false;
  for (; next < order.size(); ++next) {
    const auto index = static_cast<size_t>(order[next].index);
    if (!needed[index] || done_[index] || folds_[index]) continue;
    std::vector<ir::ValueId> reads;
    append_reads(graph_.node(order[next]), reads);
    return meter_.spared(reads) * kLeastSpared >= meter_.total();
  }
  return false;
}

bool Compiler::is_feed(ir::ValueId value) const {
  return std::ranges::find(request_.feeds, value, &Feed::value) != request_.feeds.end();
}

/// `left` are the nodes after the last one of this program.
void Compiler::cut(std::span<const ir::NodeId> left) {
  compiled_.is_cut = true;
  compiled_.deferred.clear();  // the next segment finds them again
  compiled_.reads.clear();
  std::vector<ir::ValueId> reads;
  for (const std::span<const ir::NodeId> nodes : {std::span<const ir::NodeId>(postponed_), left}) {
    for (const ir::NodeId id : nodes) {
      if (!done_[static_cast<size_t>(id.index)]) append_reads(graph_.node(id), reads);
    }
  }
  std::vector<bool> seen(graph_.value_count());
  for (const ir::ValueId value : reads) {
    const Held& source = held(value);
    if (seen[static_cast<size_t>(value.index)] || source.when == When::kUnset || source.when == When::kLater) continue;
    seen[static_cast<size_t>(value.index)] = true;
    if (source.when == When::kOpaque) {
      compiled_.handed_on.push_back({value, Layout::kPlain});
    } else if (source.constant != nullptr) {
      if (!source.is_stored) compiled_.constants.push_back({value, *source.constant});
    } else {
      (is_feed(value) ? compiled_.handed_on : compiled_.carried).push_back({value, source.native});
    }
  }
}

}  // namespace quarkq::exec

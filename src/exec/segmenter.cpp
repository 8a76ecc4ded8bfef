// SPDX-License-Identifier: MIT
#include "exec/segmenter.h"

#include <algorithm>

namespace quarkq::exec {
namespace {

constexpr int64_t kLeastSpared = 4;  // one part in so many, or a cut is not worth reading its values again

/// Returns the sum over the values, counting each value once.
template <typename Bytes>
int64_t sum_once(const std::vector<ir::ValueId>& values, Bytes bytes) {
  int64_t all = 0;
  for (auto value = values.begin(); value != values.end(); ++value) {
    if (std::find(values.begin(), value, *value) == value) all += bytes(*value);
  }
  return all;
}

}  // namespace

void SegmentMeter::made(ir::ValueId value, int64_t bytes) {
  if (bytes_[at(value)] > 0) return;
  bytes_[at(value)] = bytes;
  live_ += waiting(value);
}

void SegmentMeter::use(const std::vector<ir::ValueId>& values) {
  peak_ =
      std::max(peak_, live_ + sum_once(values, [&](ir::ValueId value) { return bytes_[at(value)] - waiting(value); }));
}

void SegmentMeter::read(ir::ValueId value) {
  if (readers_[at(value)] == 0 || --readers_[at(value)] > 0) return;
  live_ -= waiting(value);
  bytes_[at(value)] = 0;
}

int64_t SegmentMeter::spared(const std::vector<ir::ValueId>& next) const {
  return weights_ + live_ - sum_once(next, [&](ir::ValueId value) { return waiting(value); });
}

std::vector<ir::NodeId> Segmenter::begin(const std::vector<ir::NodeId>& order, const std::vector<bool>& needed) {
  const auto at = [](ir::NodeId id) { return static_cast<size_t>(id.index); };
  folds_.assign(graph_.node_count(), false);
  std::vector<ir::ValueId> reads;
  for (const ir::NodeId id : order) {
    reads.clear();
    append_reads(graph_.node(id), reads);
    folds_[at(id)] = std::ranges::all_of(reads, [&](ir::ValueId read) {
      const ir::Node* producer = graph_.producer(read);
      return values_.at(read).constant != nullptr || (producer != nullptr && folds_[at(producer->id)]);
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
        const ir::Node* producer = values_.at(read).when == ValueTable::When::kUnset ? graph_.producer(read) : nullptr;
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
  reads.clear();
  for (const ir::NodeId id : graph_.order()) {
    if (needed[at(id)]) append_reads(graph_.node(id), reads);
  }
  reads.insert(reads.end(), request_.fetches.begin(), request_.fetches.end());
  for (const ir::ValueId read : reads) meter_.expect_reader(read);
  return placed_order;
}

void Segmenter::measure(const ir::Node& node) {
  std::vector<ir::ValueId> values;
  append_reads(node, values);
  const size_t reads = values.size();
  for (const ir::ValueId output : node.outputs) {
    if (output.valid()) values.push_back(output);
  }
  for (const ir::ValueId value : values) {
    const ValueTable::Entry& source = values_.at(value);
    if (source.when == ValueTable::When::kNow && source.constant == nullptr)
      meter_.made(value, storage_bytes(source.type, ir::checked_count(source.dims)));
  }
  meter_.use(values);
  for (size_t i = 0; i < reads; ++i) meter_.read(values[i]);
}

bool Segmenter::ends(std::span<const ir::NodeId> left, const std::vector<bool>& done) const {
  if (meter_.total() <= request_.segment_bytes) return false;
  const auto next = std::ranges::find_if(left, [&](ir::NodeId id) {
    const auto index = static_cast<size_t>(id.index);
    return !done[index] && !folds_[index];
  });
  if (next == left.end()) return false;
  std::vector<ir::ValueId> reads;
  append_reads(graph_.node(*next), reads);
  return meter_.spared(reads) * kLeastSpared >= meter_.total();
}

bool Segmenter::is_feed(ir::ValueId value) const {
  return std::ranges::find(request_.feeds, value, &Feed::value) != request_.feeds.end();
}

Segmenter::Border Segmenter::border(std::span<const ir::NodeId> later) const {
  Border border;
  std::vector<ir::ValueId> reads;
  for (const ir::NodeId id : later) append_reads(graph_.node(id), reads);
  std::vector<bool> seen(graph_.value_count());
  for (const ir::ValueId value : reads) {
    const ValueTable::Entry& source = values_.at(value);
    if (seen[static_cast<size_t>(value.index)] || source.when == ValueTable::When::kUnset ||
        source.when == ValueTable::When::kLater)
      continue;
    seen[static_cast<size_t>(value.index)] = true;
    if (source.when == ValueTable::When::kOpaque) {
      border.handed_on.push_back({value, Layout::kPlain});
    } else if (source.constant != nullptr) {
      if (!source.is_stored) border.constants.push_back({value, *source.constant});
    } else {
      (is_feed(value) ? border.handed_on : border.carried).push_back({value, source.native});
    }
  }
  return border;
}

}  // namespace quarkq::exec

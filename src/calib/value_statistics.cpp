// SPDX-License-Identifier: MIT
#include "calib/value_statistics.h"

#include <omp.h>

#include <algorithm>
#include <bit>

#include "base/parallel.h"

namespace quarkq::calib {
namespace {

constexpr int64_t kValuesPerTask = kMaxCounted;  // 32 KiB: stays in the first cache between finding and counting

Extremes merge_extremes(const Extremes& a, const Extremes& b) {
  Extremes both = a.finite == 0 ? b : a;
  if (a.finite > 0 && b.finite > 0) both = {std::min(a.min, b.min), std::max(a.max, b.max), 0, 0, 0};
  both.finite = a.finite + b.finite;
  both.not_finite = a.not_finite + b.not_finite;
  return both;
}

}  // namespace

void ValueStatistics::add(const float* values, int64_t count, uint64_t sample) {
  const auto find = QQ_DISPATCH(calib, find_extremes);
  const int64_t tasks = (count + kValuesPerTask - 1) / kValuesPerTask;
  // Below these sizes a region of several threads costs more than it saves.
  const int threads = tasks > (with_bins_ ? 4 : 16) ? omp_get_max_threads() : 1;
  if (with_bins_ && tables_.size() < static_cast<size_t>(threads)) tables_.resize(static_cast<size_t>(threads));
  std::vector<Extremes> found(static_cast<size_t>(threads));
  parallel_for(threads, {.threads = threads}, [&](int64_t at) {  // each has its table
    const auto thread = static_cast<size_t>(at);
    Extremes own;
    for (int64_t t = tasks * at / threads; t < tasks * (at + 1) / threads; ++t) {
      const float* begin = values + t * kValuesPerTask;
      const int64_t part = std::min(kValuesPerTask, count - t * kValuesPerTask);
      own = merge_extremes(own, with_bins_ ? tables_[thread].count(begin, part) : find(begin, part));
    }
    found[thread] = own;
  });
  Extremes all;
  for (const Extremes& part : found) all = merge_extremes(all, part);
  SampleRecord record{sample, static_cast<uint64_t>(all.finite), static_cast<uint64_t>(all.not_finite), {}};
  if (all.finite > 0)
    record.range = {all.min + 0.0f, all.max + 0.0f};  // -0 becomes 0: which zero comes first depends on timing
  const auto place = std::upper_bound(records_.begin(), records_.end(), sample,
                                      [](uint64_t number, const SampleRecord& other) { return number < other.sample; });
  records_.insert(place, record);
}

void ValueStatistics::merge(ValueStatistics other) {
  std::vector<SampleRecord> both(records_.size() + other.records_.size());
  std::merge(records_.begin(), records_.end(), other.records_.begin(), other.records_.end(), both.begin(),
             [](const SampleRecord& a, const SampleRecord& b) { return a.sample < b.sample; });
  records_ = std::move(both);
  gather();
  totals_ = add_bins(totals_, other.bin_counts());
  for (const auto& [position, count] : other.votes) votes[position] += count;
}

uint64_t ValueStatistics::count() const {
  uint64_t sum = 0;
  for (const SampleRecord& record : records_) sum += record.finite;
  return sum;
}

uint64_t ValueStatistics::not_finite() const {
  uint64_t sum = 0;
  for (const SampleRecord& record : records_) sum += record.not_finite;
  return sum;
}

numeric::Range ValueStatistics::extremes() const {
  numeric::Range all;
  bool first = true;
  for (const SampleRecord& record : records_) {
    if (record.finite == 0) continue;
    all =
        first ? record.range : numeric::Range{std::min(all.min, record.range.min), std::max(all.max, record.range.max)};
    first = false;
  }
  return all;
}

void ValueStatistics::gather() const {
  for (BinTable& table : tables_) totals_ = add_bins(totals_, table.take());
  tables_.clear();
}

const std::vector<BinCount>& ValueStatistics::bin_counts() const {
  gather();
  return totals_;
}

std::vector<WeightedValue> ValueStatistics::bins() const {
  const std::vector<BinCount>& counts = bin_counts();
  std::vector<WeightedValue> all;
  all.reserve(counts.size());
  auto push = [&](const BinCount& entry) {
    const uint32_t magnitude = entry.bin & ~kSignBin;
    if (magnitude == 0) return all.push_back({0.0f, 0.0f, entry.count});
    const float low = std::bit_cast<float>(magnitude << kBinShift);
    const float high = std::bit_cast<float>((magnitude + 1) << kBinShift);
    const float middle = std::bit_cast<float>(magnitude << kBinShift | uint32_t{1} << (kBinShift - 1));
    // The last bin below infinity ends in it; its width is that of the bin before.
    const float width = magnitude + 1 == 0x7F800000u >> kBinShift
                            ? low - std::bit_cast<float>((magnitude - 1) << kBinShift)
                            : high - low;
    all.push_back({(entry.bin & kSignBin) != 0 ? -middle : middle, width, entry.count});
  };
  const auto negative = std::lower_bound(counts.begin(), counts.end(), kSignBin,
                                         [](const BinCount& entry, uint32_t bin) { return entry.bin < bin; });
  for (auto entry = counts.end(); entry != negative;) push(*--entry);
  for (auto entry = counts.begin(); entry != negative; ++entry) push(*entry);
  return all;
}

}  // namespace quarkq::calib

// SPDX-License-Identifier: MIT
#include "calib/value_statistics.h"

#include <omp.h>
#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>
#include <new>

#include "base/parallel.h"

namespace quarkq::calib {

namespace {

uint32_t magnitude_bin(float value) { return std::bit_cast<uint32_t>(std::abs(value)) >> kBinShift; }

}  // namespace

Extremes BinTable::count(const float* values, int64_t count) {
  if (table_ == nullptr) table_.reset(static_cast<uint16_t*>(std::calloc(kBinCount, sizeof(uint16_t))));
  if (table_ == nullptr) throw std::bad_alloc();
  thread_local Carries carries;
  const Extremes found = QQ_DISPATCH(calib, count_bins)(values, count, table_.get(), carries);
  for (int i = 0; i < carries.count; ++i) ++overflows_[carries.bins[i]];
  finite_ += static_cast<uint64_t>(found.finite);
  if (found.smallest == 0xFFFFFFFF) return found;  // nothing but zeros
  lowest_ = std::min(lowest_, found.smallest >> kBinShift);
  highest_ = std::max({highest_, magnitude_bin(found.min), magnitude_bin(found.max)});
  return found;
}

std::vector<BinCount> BinTable::take() {
  std::vector<BinCount> all(1);  // bin 0: zeros, and magnitudes so small that they share its number
  uint64_t binned = 0;
  for (const uint32_t sign : {uint32_t{0}, kSignBin}) {
    for (uint32_t bin = std::max(lowest_, 1u); bin <= highest_; ++bin) {
      uint16_t& entry = table_.get()[sign | bin];
      if (entry == 0) continue;
      all.push_back({sign | bin, entry});
      binned += entry;
      entry = 0;
    }
  }
  std::vector<BinCount> more;
  for (const auto& [bin, times] : overflows_) {
    if ((bin & ~kSignBin) >= kInfinityBin || (bin & ~kSignBin) == 0) continue;
    more.push_back({bin, times << 16});
    binned += times << 16;
  }
  all[0].count = finite_ - binned;
  if (all[0].count == 0) all.erase(all.begin());
  overflows_.clear();
  lowest_ = kInfinityBin;
  highest_ = finite_ = 0;
  return more.empty() ? all : add_bins(all, more);
}

std::vector<BinCount> add_bins(const std::vector<BinCount>& a, const std::vector<BinCount>& b) {
  std::vector<BinCount> sum;
  sum.reserve(a.size() + b.size());
  auto i = a.begin(), j = b.begin();
  while (i != a.end() || j != b.end()) {
    if (j == b.end() || (i != a.end() && i->bin < j->bin)) {
      sum.push_back(*i++);
    } else if (i == a.end() || j->bin < i->bin) {
      sum.push_back(*j++);
    } else {
      sum.push_back({i->bin, i->count + j->count});
      ++i, ++j;
    }
  }
  return sum;
}

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

namespace {

/// Bins of magnitudes, ascending.
std::vector<WeightedValue> magnitudes(const ValueStatistics& statistics) {
  const std::vector<WeightedValue> bins = statistics.bins();
  std::vector<WeightedValue> sorted(bins.size()), merged;
  const auto positive = std::find_if(bins.begin(), bins.end(), [](const WeightedValue& bin) { return bin.value >= 0; });
  std::merge(std::make_reverse_iterator(positive), bins.rend(), positive, bins.end(), sorted.begin(),
             [](const WeightedValue& a, const WeightedValue& b) { return std::abs(a.value) < std::abs(b.value); });
  for (WeightedValue& bin : sorted) bin.value = std::abs(bin.value);
  for (const WeightedValue& bin : sorted) {
    if (!merged.empty() && merged.back().value == bin.value) {
      merged.back().count += bin.count;
    } else {
      merged.push_back(bin);
    }
  }
  return merged;
}

/// The value of rank `rank` (1: the smallest) of the values in `bins`, ascending: its bin's values count as spread
/// evenly.
float value_of_rank(const std::vector<WeightedValue>& bins, uint64_t rank) {
  uint64_t below = 0;
  for (const WeightedValue& bin : bins) {
    if (below + bin.count < rank) {
      below += bin.count;
      continue;
    }
    const double place = (static_cast<double>(rank - below) - 0.5) / static_cast<double>(bin.count);
    return static_cast<float>(static_cast<double>(bin.value) + static_cast<double>(bin.width) * (place - 0.5));
  }
  return 0;
}

/// The smallest rank with rank / count >= fraction. A product that is a whole number but for rounding counts as it.
uint64_t rank_of(double fraction, uint64_t count) {
  const double wanted = fraction * static_cast<double>(count);
  const double rank = std::ceil(wanted - wanted * 1e-12);
  return std::clamp<uint64_t>(static_cast<uint64_t>(std::max(rank, 1.0)), 1, count);
}

}  // namespace

float magnitude_quantile(const ValueStatistics& statistics, double percent) {
  const uint64_t count = statistics.count();
  if (count == 0) return 0;
  const numeric::Range extremes = statistics.extremes();
  const float largest = std::max(std::abs(extremes.min), std::abs(extremes.max));
  const uint64_t rank = rank_of(percent / 100, count);
  return rank == count ? largest : std::min(value_of_rank(magnitudes(statistics), rank), largest);
}

float value_quantile(const ValueStatistics& statistics, double fraction) {
  const uint64_t count = statistics.count();
  if (count == 0) return 0;
  const numeric::Range extremes = statistics.extremes();
  const uint64_t rank = rank_of(fraction, count);
  if (rank == 1) return extremes.min;
  if (rank == count) return extremes.max;
  return std::clamp(value_of_rank(statistics.bins(), rank), extremes.min, extremes.max);
}

numeric::Range percentile_range(const ValueStatistics& statistics, double percent, bool symmetric) {
  const numeric::Range extremes = statistics.extremes();
  if (symmetric) {
    const float most = magnitude_quantile(statistics, percent);
    return {std::max(-most, extremes.min), std::min(most, extremes.max)};
  }
  const double cut = (100 - percent) / 200;
  return {value_quantile(statistics, cut), value_quantile(statistics, 1 - cut)};
}

GridError grid_error(const std::vector<WeightedValue>& values, numeric::IntegerRange limits, int32_t zero_point,
                     float scale) {
  GridError sum;
  const auto step = static_cast<double>(scale);
  const auto low = static_cast<double>(limits.min), high = static_cast<double>(limits.max);
  for (const WeightedValue& entry : values) {
    const auto count = static_cast<double>(entry.count);
    const double wanted = std::nearbyint(entry.value / scale) + zero_point;
    const double steps = std::clamp(wanted, low, high);
    if (steps == wanted && entry.width >= scale) {
      sum.absolute += count * step / 4;
      sum.squared += count * step * step / 12;
      continue;
    }
    const double difference = std::abs(static_cast<double>(entry.value) - (steps - zero_point) * step);
    sum.absolute += count * difference;
    sum.squared += count * difference * difference;
  }
  return sum;
}

}  // namespace quarkq::calib

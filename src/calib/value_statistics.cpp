// SPDX-License-Identifier: MIT
#include "calib/value_statistics.h"

#include <omp.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace quarkq::calib {
namespace {

constexpr int64_t kValuesPerTask = 16384;  // 64 KiB: stays in the first two cache levels between the loops

Extremes merge(const Extremes& a, const Extremes& b) {
  Extremes both = a.finite == 0 ? b : a;
  if (a.finite > 0 && b.finite > 0) both = {std::min(a.min, b.min), std::max(a.max, b.max), 0, 0, 0};
  both.finite = a.finite + b.finite;
  both.not_finite = a.not_finite + b.not_finite;
  both.smallest = std::min(a.smallest, b.smallest);
  return both;
}

Extremes find_all(const float* values, int64_t count) {
  const auto find = QQ_DISPATCH(calib, find_extremes);
  const int64_t tasks = (count + kValuesPerTask - 1) / kValuesPerTask;
  std::vector<Extremes> found(static_cast<size_t>(tasks));
#pragma omp parallel for schedule(static) if (tasks > 2)
  for (int64_t t = 0; t < tasks; ++t) {
    found[static_cast<size_t>(t)] =
        find(values + t * kValuesPerTask, std::min(kValuesPerTask, count - t * kValuesPerTask));
  }
  Extremes all;
  for (const Extremes& part : found) all = merge(all, part);
  return all;
}

/// The middle of a bin of magnitudes.
float bin_middle(uint32_t bin) { return std::bit_cast<float>(bin << kBinShift | uint32_t{1} << (kBinShift - 1)); }

/// The entries of `old_table` at their places in a table for `range`.
template <typename T>
std::vector<T> moved(const std::vector<T>& old_table, const BinRange& old_range, const BinRange& range, size_t size) {
  std::vector<T> table(size);
  if (old_table.empty()) return table;
  for (uint32_t i = 0; i < old_range.count; ++i) {
    const size_t place = old_range.first - range.first + i;
    table[place] = old_table[i];
    table[range.count + place] = old_table[old_range.count + i];
  }
  return table;
}

}  // namespace

void ValueStatistics::add(const float* values, int64_t count) {
  const Extremes found = find_all(values, count);
  not_finite_ += static_cast<uint64_t>(found.not_finite);
  if (found.finite > 0) {
    const numeric::Range range{found.min, found.max};
    samples_.push_back(range);
    extremes_ =
        count_ == 0 ? range : numeric::Range{std::min(extremes_.min, range.min), std::max(extremes_.max, range.max)};
  }
  count_ += static_cast<uint64_t>(found.finite);
  if (!with_bins_ || found.finite == 0) return;
  if (found.not_finite == 0) {
    count_finite(values, count, found);
    return;
  }
  std::vector<float> finite;
  for (int64_t i = 0; i < count; ++i) {
    if ((std::bit_cast<uint32_t>(values[i]) & 0x7F800000) != 0x7F800000) finite.push_back(values[i]);
  }
  count_finite(finite.data(), static_cast<int64_t>(finite.size()), found);
}

void ValueStatistics::widen(const Extremes& found) {
  if (found.smallest == 0xFFFFFFFF) return;  // nothing but zeros
  const float largest = std::max(std::abs(found.min), std::abs(found.max));
  const uint32_t low = found.smallest >> kBinShift, high = std::bit_cast<uint32_t>(largest) >> kBinShift;
  if (range_.count > 0 && low >= range_.first && high < range_.first + range_.count) return;
  // Whole exponents, and one more on each side, so that later samples rarely widen again.
  constexpr uint32_t kBinsPerExponent = 1u << (23 - kBinShift), kExponents = 255;
  uint32_t first = low / kBinsPerExponent, last = high / kBinsPerExponent;
  if (range_.count > 0) {
    first = std::min(first, range_.first / kBinsPerExponent);
    last = std::max(last, (range_.first + range_.count - 1) / kBinsPerExponent);
  }
  first = first > 0 ? first - 1 : 0;
  last = std::min(last + 1, kExponents - 1);
  const BinRange wider{first * kBinsPerExponent, (last - first + 1) * kBinsPerExponent};
  for (std::vector<uint32_t>& table : tables_) {
    if (!table.empty()) table = moved(table, range_, wider, wider.table_size());
  }
  if (!totals_.empty()) totals_ = moved(totals_, range_, wider, 2 * static_cast<size_t>(wider.count));
  range_ = wider;
}

void ValueStatistics::count_finite(const float* values, int64_t count, const Extremes& found) {
  const auto bin_values = QQ_DISPATCH(calib, count_bins);
  widen(found);
  if (pending_ + static_cast<uint64_t>(count) > std::numeric_limits<uint32_t>::max()) empty_tables();
  pending_ += static_cast<uint64_t>(count);
  const int64_t tasks = (count + kValuesPerTask - 1) / kValuesPerTask;
  const int threads = tasks > 2 ? omp_get_max_threads() : 1;
  if (tables_.size() < static_cast<size_t>(threads)) tables_.resize(static_cast<size_t>(threads));
  int64_t zeros = 0;
#pragma omp parallel for schedule(static) reduction(+ : zeros) num_threads(threads) if (threads > 1)
  for (int64_t t = 0; t < tasks; ++t) {
    std::vector<uint32_t>& table = tables_[static_cast<size_t>(omp_get_thread_num())];
    if (table.empty()) table.resize(range_.table_size());
    zeros += bin_values(values + t * kValuesPerTask, std::min(kValuesPerTask, count - t * kValuesPerTask), range_,
                        table.data());
  }
  zeros_ += static_cast<uint64_t>(zeros);
}

void ValueStatistics::empty_tables() {
  totals_.resize(2 * static_cast<size_t>(range_.count));
  for (std::vector<uint32_t>& table : tables_) {
    if (table.empty()) continue;
    for (size_t i = 0; i < totals_.size(); ++i) totals_[i] += table[i];
    std::fill(table.begin(), table.end(), 0);
  }
  pending_ = 0;
}

std::vector<WeightedValue> ValueStatistics::bins() const {
  std::vector<WeightedValue> all;
  auto visit = [&](size_t place, float value) {
    uint64_t count = totals_.empty() ? 0 : totals_[place];
    for (const std::vector<uint32_t>& table : tables_) count += table.empty() ? 0 : table[place];
    if (count > 0) all.push_back({value, count});
  };
  for (uint32_t i = range_.count; i-- > 0;) visit(range_.count + i, -bin_middle(range_.first + i));
  if (zeros_ > 0) all.push_back({0.0f, zeros_});
  for (uint32_t i = 0; i < range_.count; ++i) visit(i, bin_middle(range_.first + i));
  return all;
}

}  // namespace quarkq::calib

// SPDX-License-Identifier: MIT
#include "calib/value_statistics.h"

#include <omp.h>

#include <algorithm>
#include <bit>
#include <limits>

namespace quarkq::calib {
namespace {

constexpr int64_t kValuesPerTask = 16384;  // 64 KiB: stays in the first two cache levels between the loops

Extremes merge(const Extremes& a, const Extremes& b) {
  if (a.finite == 0) return {b.min, b.max, b.finite, a.not_finite + b.not_finite};
  if (b.finite == 0) return {a.min, a.max, a.finite, a.not_finite + b.not_finite};
  return {std::min(a.min, b.min), std::max(a.max, b.max), a.finite + b.finite, a.not_finite + b.not_finite};
}

Extremes find_all(const float* values, int64_t count) {
  const auto find = QQ_DISPATCH(calib, find_extremes);
  const int64_t tasks = (count + kValuesPerTask - 1) / kValuesPerTask;
  std::vector<Extremes> found(static_cast<size_t>(tasks));
#pragma omp parallel for schedule(static) if (tasks > 2)
  for (int64_t t = 0; t < tasks; ++t) {
    found[static_cast<size_t>(t)] = find(values + t * kValuesPerTask, std::min(kValuesPerTask, count - t * kValuesPerTask));
  }
  Extremes all;
  for (const Extremes& part : found) all = merge(all, part);
  return all;
}

/// The middle of a bin.
float bin_middle(int row, int bin) {
  const uint32_t bits = static_cast<uint32_t>(row) << 23 | static_cast<uint32_t>(bin) << (23 - kMantissaBits) |
                        uint32_t{1} << (22 - kMantissaBits);
  return std::bit_cast<float>(bits);
}

}  // namespace

void ValueStatistics::add(const float* values, int64_t count) {
  const Extremes found = find_all(values, count);
  not_finite_ += static_cast<uint64_t>(found.not_finite);
  if (found.finite > 0) {
    const numeric::Range range{found.min, found.max};
    samples_.push_back(range);
    extremes_ = count_ == 0 ? range : numeric::Range{std::min(extremes_.min, range.min), std::max(extremes_.max, range.max)};
  }
  count_ += static_cast<uint64_t>(found.finite);
  if (!with_bins_ || found.finite == 0) return;
  if (found.not_finite == 0) {
    count_finite(values, count);
    return;
  }
  std::vector<float> finite;
  for (int64_t i = 0; i < count; ++i) {
    if ((std::bit_cast<uint32_t>(values[i]) & 0x7F800000) != 0x7F800000) finite.push_back(values[i]);
  }
  count_finite(finite.data(), static_cast<int64_t>(finite.size()));
}

void ValueStatistics::count_finite(const float* values, int64_t count) {
  const auto bin_values = QQ_DISPATCH(calib, count_bins);
  const auto find_rows = QQ_DISPATCH(calib, find_rows);
  if (pending_ + static_cast<uint64_t>(count) > std::numeric_limits<uint32_t>::max()) empty_rows();
  pending_ += static_cast<uint64_t>(count);
  const int64_t tasks = (count + kValuesPerTask - 1) / kValuesPerTask;
  const int threads = tasks > 2 ? omp_get_max_threads() : 1;
  if (rows_.size() < static_cast<size_t>(threads)) rows_.resize(static_cast<size_t>(threads));
  int64_t zeros = 0;
#pragma omp parallel for schedule(static) reduction(+ : zeros) num_threads(threads) if (threads > 1)
  for (int64_t t = 0; t < tasks; ++t) {
    Rows& rows = rows_[static_cast<size_t>(omp_get_thread_num())];
    const float* begin = values + t * kValuesPerTask;
    const int64_t part = std::min(kValuesPerTask, count - t * kValuesPerTask);
    uint8_t used[kRows] = {};
    find_rows(begin, part, used);
    BinRow* pointers[kRows] = {};
    for (int r = 0; r < kRows; ++r) {
      if (used[r] == 0) continue;
      if (!rows[static_cast<size_t>(r)]) rows[static_cast<size_t>(r)] = std::make_unique<BinRow>();
      pointers[r] = rows[static_cast<size_t>(r)].get();
    }
    zeros += bin_values(begin, part, pointers);
  }
  zeros_ += static_cast<uint64_t>(zeros);
}

void ValueStatistics::empty_rows() {
  for (Rows& rows : rows_) {
    for (size_t r = 0; r < kRows; ++r) {
      if (!rows[r]) continue;
      if (!totals_[r]) totals_[r] = std::make_unique<std::array<uint64_t, kBinsPerRow>>();
      for (size_t b = 0; b < kBinsPerRow; ++b) (*totals_[r])[b] += rows[r]->count[b];
      *rows[r] = {};
    }
  }
  pending_ = 0;
}

std::vector<WeightedValue> ValueStatistics::bins() const {
  std::vector<WeightedValue> all;
  auto visit = [&](int row, int bin) {
    const auto r = static_cast<size_t>(row), b = static_cast<size_t>(bin);
    uint64_t count = totals_[r] ? (*totals_[r])[b] : 0;
    for (const Rows& rows : rows_) count += rows[r] ? rows[r]->count[b] : 0;
    if (count > 0) all.push_back({bin_middle(row, bin), count});
  };
  for (int row = kRows - 1; row >= kRows / 2; --row) {
    for (int bin = kBinsPerRow - 1; bin >= 0; --bin) visit(row, bin);
  }
  if (zeros_ > 0) all.push_back({0.0f, zeros_});
  for (int row = 0; row < kRows / 2; ++row) {
    for (int bin = 0; bin < kBinsPerRow; ++bin) visit(row, bin);
  }
  return all;
}

}  // namespace quarkq::calib

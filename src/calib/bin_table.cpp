// SPDX-License-Identifier: MIT
#include "calib/bin_table.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <new>

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

}  // namespace quarkq::calib

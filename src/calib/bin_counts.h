// SPDX-License-Identifier: MIT
// BinCounts: the counts of a histogram whose number of bins one outlier can multiply by a million. Only pages that hold
// a count take memory, so memory is bounded by the values seen, not by the bins.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace quarkq::calib {

class BinCounts {
 public:
  /// REQUIRES: bin >= 0.
  void add(int64_t bin) {
    const auto place = static_cast<size_t>(bin + base_);
    if (place / kPage >= pages_.size() || pages_[place / kPage].empty()) make_page(place / kPage);
    ++pages_[place / kPage][place % kPage];
    ++total_;
  }
  /// Moves every count `bins` bins up. REQUIRES: bins >= 0.
  void shift(int64_t bins);
  int64_t total() const { return total_; }
  int64_t at(int64_t bin) const;

  /// Calls visit(bin, count) for each count above zero, in order of bins, until it returns false.
  template <typename Visit>
  void visit(Visit visit) const {
    for (size_t page = 0; page < pages_.size(); ++page) {
      for (size_t i = 0; i < pages_[page].size(); ++i) {
        const int64_t count = pages_[page][i];
        if (count > 0 && !visit(static_cast<int64_t>(page * kPage + i) - base_, count)) return;
      }
    }
  }

 private:
  static constexpr size_t kPage = 4096;
  void make_page(size_t page);

  std::vector<std::vector<int64_t>> pages_;  ///< an empty page counts zeros
  int64_t base_ = 0;                         ///< place of bin 0
  int64_t total_ = 0;
};

}  // namespace quarkq::calib

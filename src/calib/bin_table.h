// SPDX-License-Identifier: MIT
// BinTable: the bins of one tensor as one thread counts them.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <vector>

#include "calib/observe_loops.h"

namespace quarkq::calib {

/// Values that fell into one bin. Zeros of both signs are one bin, number 0.
struct BinCount {
  uint32_t bin = 0;  ///< bits of its values >> kBinShift
  uint64_t count = 0;
  bool operator==(const BinCount&) const = default;
};

class BinTable {
 public:
  /// Counts values and gives their extremes; those that are not finite are left out. REQUIRES: count <= kMaxCounted.
  Extremes count(const float* values, int64_t count);

  /// Bins that occur, by ascending number. The table is empty afterwards.
  std::vector<BinCount> take();

 private:
  struct Free {
    void operator()(uint16_t* block) const { std::free(block); }
  };

  // Every bin there is has an entry; the system gives memory only to pages that are touched, those of exponents that
  // occur.
  std::unique_ptr<uint16_t, Free> table_;
  std::map<uint32_t, uint64_t> overflows_;        ///< bin -> how often its entry went past 65535
  uint32_t lowest_ = kInfinityBin, highest_ = 0;  ///< bins of the smallest and largest magnitude
  uint64_t finite_ = 0;
};

/// The sum of two lists, each by ascending bin number.
std::vector<BinCount> add_bins(const std::vector<BinCount>& a, const std::vector<BinCount>& b);

}  // namespace quarkq::calib

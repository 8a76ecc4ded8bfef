// SPDX-License-Identifier: MIT
#include "calib/quark/order_statistics.h"

#include <bit>
#include <cmath>

namespace quarkq::calib {
namespace {

constexpr uint32_t kSign = 0x80000000;

struct Found {
  uint32_t bin = 0;
  int64_t below = 0;  ///< counts of the bins before it
};

/// The bin that holds the number of rank `rank`.
Found bin_of_rank(const BinCounts& counts, int64_t rank) {
  Found found;
  counts.visit([&](int64_t bin, int64_t count) {
    found.bin = static_cast<uint32_t>(bin);
    if (rank < found.below + count) return false;
    found.below += count;
    return true;
  });
  return found;
}

}  // namespace

uint32_t OrderStatistics::key_of(float x) {
  const auto bits = std::bit_cast<uint32_t>(x);
  return (bits & kSign) != 0 ? ~bits : bits | kSign;
}

float OrderStatistics::number_of(uint32_t key) {
  return std::bit_cast<float>((key & kSign) != 0 ? key & ~kSign : ~key);
}

OrderStatistics::Place OrderStatistics::place_of(double percentile) const {
  const double position = static_cast<double>(count() - 1) * (percentile / 100);
  if (position >= static_cast<double>(count() - 1)) return {count() - 1, 0, true};
  const double whole = std::floor(position);
  return {static_cast<int64_t>(whole), position - whole, false};
}

void OrderStatistics::choose() {
  for (const double percentile : percentiles_) {
    const Place place = place_of(percentile);
    lower_[bin_of_rank(upper_, place.rank).bin];
    if (!place.is_largest) lower_[bin_of_rank(upper_, place.rank + 1).bin];
  }
}

float OrderStatistics::at_rank(int64_t rank) const {
  const Found upper = bin_of_rank(upper_, rank);
  const Found lower = bin_of_rank(lower_.at(upper.bin), rank - upper.below);
  return number_of(upper.bin << 16 | lower.bin);
}

float OrderStatistics::percentile(size_t index) const {
  const Place place = place_of(percentiles_[index]);
  const float left = at_rank(place.rank);
  if (place.is_largest) return left;
  const float right = at_rank(place.rank + 1), difference = right - left;
  if (place.fraction < 0.5) return left + difference * static_cast<float>(place.fraction);
  return right - difference * static_cast<float>(1 - place.fraction);
}

}  // namespace quarkq::calib

// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>

#include "calib/data_reader.h"

namespace quarkq::calib {

/// Some samples of a reader, evenly spread over those with even or those with odd numbers: what is found on one half is
/// judged on the other. The reader must outlive this.
class SpreadSamples final : public DataReader {
 public:
  enum class Part { kEven, kOdd };
  /// Of a single sample it is both parts.
  SpreadSamples(const DataReader& all, size_t count, Part part)
      : all_(all),
        odd_(part == Part::kOdd && all.size() > 1 ? 1 : 0),
        available_((all.size() + 1 - odd_) / 2),
        count_(std::min(count, available_)) {}

  size_t size() const override { return count_; }
  /// The reader's number of sample `index`.
  size_t number(size_t index) const { return 2 * (index * available_ / count_) + odd_; }
  Result<Sample> read(size_t index) const override { return all_.read(number(index)); }

 private:
  const DataReader& all_;
  size_t odd_, available_, count_;
};

}  // namespace quarkq::calib

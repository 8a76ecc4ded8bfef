// SPDX-License-Identifier: MIT
// A sample that is at hand.
#pragma once

#include <utility>

#include "calib/data_reader.h"

namespace quarkq::calib {

class OneSample final : public DataReader {
 public:
  explicit OneSample(Sample sample) : sample_(std::move(sample)) {}

  size_t size() const override { return 1; }
  Result<Sample> read(size_t /*index*/) const override { return sample_; }

 private:
  Sample sample_;
};

}  // namespace quarkq::calib

// SPDX-License-Identifier: MIT
// RangeObserver: a method of the reference, sample by sample in the order of the data (--compat). The default methods
// have none of this: they read ValueStatistics, which no order can change.
#pragma once

#include <span>

#include "numeric/range_to_params.h"

namespace quarkq::calib {

class RangeObserver {
 public:
  virtual ~RangeObserver() = default;

  /// The tensor in the next sample: all its values in ONNX order, NaN and infinities included. Fails where the
  /// reference fails; the tensor then takes the fallback method.
  virtual Status add(std::span<const float> values) = 0;

  /// Asked once after every pass over the samples: true to observe them all once more, in the same order.
  virtual bool wants_another_pass() { return false; }

  /// REQUIRES: wants_another_pass() said false.
  virtual Result<numeric::Range> finish() = 0;
};

}  // namespace quarkq::calib

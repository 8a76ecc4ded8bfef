// SPDX-License-Identifier: MIT
// Which measured tensor each tensor's range is read from (ref:scales#range-sources).
#pragma once

#include <vector>

#include "pass/context.h"

namespace quarkq::planning {

struct RangeSources {
  std::vector<ir::ValueId> source;  ///< by value id: the value whose measured range holds
  std::vector<bool> unit;           ///< by value id: the range is [0, 1] (the output of a Softmax)
};

/// Walks the nodes in order: a quantized Relu or Clip that alone reads its input passes its output's range to it, a
/// quantized Softmax has [0, 1] after it.
RangeSources find_range_sources(const pass::PlanContext& context);

}  // namespace quarkq::planning

// SPDX-License-Identifier: MIT
// CalibPassthroughOpTypes are not quantized either: the reference takes them off the list that both steps read
// (ref:calibration#passthrough).
#include "planning/passes.h"

namespace quarkq::planning {

Result<Changed> exclude_passthrough_ops(pass::PlanContext& context) {
  size_t left = 0;
  for (const std::string& type : context.settings.ranges.calib_passthrough_op_types) {
    left += context.selection.op_types.erase(type);
  }
  return left == 0 ? Changed::kNo : Changed::kYes;
}

}  // namespace quarkq::planning

// SPDX-License-Identifier: MIT
// How opsets below 7 align the second operand: the shapes are equal, or attribute `broadcast` is 1 and the second shape
// is a part of the first, which begins at `axis` or else ends with it. PRelu has a slope for each channel.
#include "exec/kernels/elementwise/elementwise.h"

namespace quarkq::exec {

Result<ir::Shape> aligned_right_dims(const Prepare& p) {
  ir::Shape right = p.in(1).dims;
  if (p.opset() >= 7 || !p.node().domain.empty()) return right;
  const int64_t rank = p.in(0).rank(), own = p.in(1).rank();
  if (product(right) == 1 && own <= rank) return right;
  int64_t axis = rank - own;
  if (p.node().op == "PRelu") {
    axis = own == 1 && rank > 1 ? 1 : axis;
  } else if (p.node().int_or("broadcast", 0) == 0) {
    if (right == p.in(0).dims) return right;
    return p.corrupt("inputs are ", shape_text(p.in(0).dims), " and ", shape_text(right), " without broadcast");
  } else if (p.node().find("axis") != nullptr) {
    axis = p.node().int_or("axis", axis);
    if (axis < 0 && axis >= -rank) axis += rank;
  }
  if (axis < 0 || axis > rank - own) {
    return p.corrupt("input 1 of rank ", own, " at axis ", axis, " does not fit rank ", rank);
  }
  right.resize(static_cast<size_t>(rank - axis), 1);
  return right;
}

}  // namespace quarkq::exec

// SPDX-License-Identifier: MIT
// What the loops over columns read: columns side by side, whose rows lie apart.
#pragma once

#include <cstdint>

namespace quarkq::exec {

/// Element (r, c) is data[r * stride + c].
struct ColumnRows {
  const float* data = nullptr;
  int64_t rows = 0, stride = 0, columns = 0;
};

}  // namespace quarkq::exec

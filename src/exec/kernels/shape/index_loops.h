// SPDX-License-Identifier: MIT
// Vectorized checking of index tensors.
#pragma once

#include <cstdint>

#include "base/isa.h"

namespace quarkq::exec {
QQ_DECLARE_ISA(
    /// Returns whether all indices are in [-length, length). REQUIRES: length <= 2^62.
    bool indices_inside(const int64_t* indices, int64_t n, int64_t length);)
}  // namespace quarkq::exec

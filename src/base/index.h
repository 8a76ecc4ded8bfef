// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

namespace quarkq {

/// Converts a number of elements or an axis to an index of a container. The caller has checked that it is not negative.
constexpr size_t as_index(int64_t value) { return static_cast<size_t>(value); }

}  // namespace quarkq

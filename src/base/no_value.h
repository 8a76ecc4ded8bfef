// SPDX-License-Identifier: MIT
// An empty alternative for std::variant.
#pragma once

namespace quarkq {

/// Replaces std::monostate in a variant of scalars and containers (tests/lint/variants.py). libstdc++ 12 assumes that
/// such a variant always has a value, although copying a text or a list may run out of memory; destroying the failed
/// copy then ends with signal 11. An alternative whose copy is not trivial switches the check on.
struct NoValue {
  NoValue() = default;
  NoValue(const NoValue& /*other*/) noexcept {}
  NoValue& operator=(const NoValue& /*other*/) noexcept { return *this; }
  ~NoValue() = default;
  friend bool operator==(const NoValue& /*a*/, const NoValue& /*b*/) { return true; }
};

}  // namespace quarkq

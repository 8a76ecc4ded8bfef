// SPDX-License-Identifier: MIT
// Ids of nodes and values inside one graph: small integers of their own types, never reused.
#pragma once

#include <compare>
#include <cstdint>

namespace quarkq::ir {

struct ValueId {
  int32_t index = -1;
  bool valid() const { return index >= 0; }
  auto operator<=>(const ValueId&) const = default;
};

struct NodeId {
  int32_t index = -1;
  bool valid() const { return index >= 0; }
  auto operator<=>(const NodeId&) const = default;
};

}  // namespace quarkq::ir

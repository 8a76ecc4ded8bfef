// SPDX-License-Identifier: MIT
// Shapes: concrete ones (every dimension known) and the partly unknown ones of a model's values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"
#include "numeric/element_type.h"

namespace quarkq::ir {

/// A concrete shape; every entry >= 0. Rank 0 is a scalar.
using Shape = std::vector<int64_t>;

/// One dimension of a value: `size` >= 0 when known, -1 when not; `symbol` is the model's name for it, may be empty.
struct Dim {
  int64_t size = -1;
  std::string symbol;
  bool known() const { return size >= 0; }
  bool operator==(const Dim&) const = default;
};

/// What is known of a value's type before anything runs.
struct ValueType {
  ElementType element = ElementType::kUndefined;
  bool has_shape = false;
  std::vector<Dim> dims;   ///< meaningful when has_shape
  std::string other_type;  ///< serialized TypeProto of sequences, optionals, maps; empty for tensors

  bool is_tensor() const { return other_type.empty() && element != ElementType::kUndefined; }
  /// True when every dimension is known; then `shape()` gives them.
  bool is_static() const;
  Shape shape() const;
  bool operator==(const ValueType&) const = default;
};

/// Elements of `shape`. Fails when a dimension is negative or the product exceeds 2^48 (no machine holds such a
/// tensor).
Result<int64_t> element_count(const Shape& shape);
/// The same for shapes that were checked before. REQUIRES: element_count() succeeds.
int64_t checked_count(const Shape& shape);

/// Numpy broadcasting of two shapes; fails when they do not fit.
Result<Shape> broadcast(const Shape& a, const Shape& b);

/// `axis` counted from the front; fails when outside [-rank, rank-1].
Result<int64_t> normalize_axis(int64_t axis, int64_t rank);

}  // namespace quarkq::ir

// SPDX-License-Identifier: MIT
// Shapes: concrete shapes (every dimension known) and partly unknown shapes of a model's values.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "numeric/element_type.h"

namespace quarkq::ir {

/// A concrete shape; every entry >= 0. Rank 0 is a scalar.
using Shape = std::vector<int64_t>;

/// One dimension of a value. `size` is -1 if it is unknown. `symbol` is the model's name for it and may be empty.
struct Dim {
  int64_t size = -1;
  std::string symbol;
  bool known() const { return size >= 0; }
  bool operator==(const Dim&) const = default;
};

/// The type of a value, as far as it is known before a run.
struct ValueType {
  ElementType element = ElementType::kUndefined;
  bool has_shape = false;
  std::vector<Dim> dims;   ///< Meaningful if has_shape.
  std::string other_type;  ///< Serialized TypeProto of sequences, optionals and maps; empty for tensors.

  bool is_tensor() const { return other_type.empty() && element != ElementType::kUndefined; }
  /// Returns whether every dimension is known; shape() then returns them.
  bool is_static() const;
  Shape shape() const;
  bool operator==(const ValueType&) const = default;
};

/// Returns the number of elements. Fails if a dimension is negative or the product exceeds 2^48, more than any machine
/// can store.
Result<int64_t> element_count(const Shape& shape);
/// Returns the number of elements of a shape that was checked before. REQUIRES: element_count() succeeds.
int64_t checked_count(const Shape& shape);

/// Broadcasts two shapes like NumPy. Fails if they do not match.
Result<Shape> broadcast(const Shape& a, const Shape& b);

/// Returns `axis` counted from the front. Fails outside [-rank, rank-1].
Result<int64_t> normalize_axis(int64_t axis, int64_t rank);

// Numbers of a model that are used as an axis, an order of dimensions or a count. They are normalized and checked here
// before they are used as an index or factor, because a model may contain any int64. For a single axis, use
// normalize_axis().

/// Upper bound on the rank of a tensor, equal to NumPy's. Larger axes are rejected even if the rank is unknown.
inline constexpr int64_t kMaxRank = 64;
/// Upper bound on strides, kernel sizes, groups and the like. Products of two such numbers and their sums fit into
/// int64.
inline constexpr int64_t kMaxCount = (int64_t{1} << 31) - 1;
/// Upper bound on the number of elements of a tensor; element_count() rejects more.
inline constexpr int64_t kMostElements = int64_t{1} << 48;

/// Calls normalize_axis() for each axis, in the given order. Fails if an axis is out of range or repeated.
Result<std::vector<int64_t>> normalize_axes(std::span<const int64_t> axes, int64_t rank);

/// Returns whether the list contains each of 0 to its length - 1 once.
bool is_permutation(std::span<const int64_t> order);
/// Fails unless `order` is a permutation of the dimensions of a tensor of this rank.
Status check_permutation(std::span<const int64_t> order, int64_t rank);

/// Returns the sum of `a` and `b`, or nullopt if it does not fit into int64.
std::optional<int64_t> checked_sum(int64_t a, int64_t b);

}  // namespace quarkq::ir

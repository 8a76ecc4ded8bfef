// SPDX-License-Identifier: MIT
// Shapes: concrete ones (every dimension known) and the partly unknown ones of a model's values.
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

// Numbers of a model that are used as an axis, an order of dimensions or a count: normalized and checked here (one
// axis: normalize_axis() of ir/shape.h), before anything is indexed or multiplied with them. A model may hold any
// int64.

/// Largest number of dimensions of a tensor: that of NumPy. Axes beyond are refused even where the rank is not known.
inline constexpr int64_t kMaxRank = 64;
/// The largest stride, kernel size, group and the like. The product of two of them and a sum of those fit into int64.
inline constexpr int64_t kMaxCount = (int64_t{1} << 31) - 1;
/// Largest number of elements of a tensor: element_count() of ir/shape.h refuses more.
inline constexpr int64_t kMostElements = int64_t{1} << 48;

/// normalize_axis() of ir/shape.h for each, in the order given; fails when one is out of range or repeated.
Result<std::vector<int64_t>> normalize_axes(std::span<const int64_t> axes, int64_t rank);

/// Does the list hold each of 0 to its length - 1 once?
bool is_permutation(std::span<const int64_t> order);
/// Fails unless `order` is a permutation of the dimensions of a tensor of this rank.
Status check_permutation(std::span<const int64_t> order, int64_t rank);

/// The sum of `a` and `b`; nothing when it does not fit into int64.
std::optional<int64_t> checked_sum(int64_t a, int64_t b);

}  // namespace quarkq::ir

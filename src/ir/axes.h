// SPDX-License-Identifier: MIT
// Numbers of a model that are used as an axis, an order of dimensions or a count: normalized and checked here (one
// axis: normalize_axis() of ir/shape.h), before anything is indexed or multiplied with them. A model may hold any
// int64.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "ir/shape.h"

namespace quarkq::ir {

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

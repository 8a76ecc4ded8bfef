// SPDX-License-Identifier: MIT
// Operands that are attributes in old opsets and constant inputs in newer ones.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "rewrite/simplify/scope.h"

namespace quarkq::rewrite::simplify {

/// Returns the axes of Squeeze, Unsqueeze and ReduceSum, or nullopt if they are omitted or unknown.
std::optional<std::vector<int64_t>> axes_of(const Scope& scope, const ir::Node& node);

/// Lists of equal length; axes as stored, steps 1 if omitted.
struct SliceLists {
  std::vector<int64_t> starts, ends, axes, steps;
};
std::optional<SliceLists> slice_lists(const Scope& scope, const ir::Node& slice);

/// Returns the positions that a Slice of one axis with step 1 selects from a list of `count` elements.
std::optional<std::pair<int64_t, int64_t>> kept_range(const Scope& scope, const ir::Node& slice, int64_t count);
/// Returns the range of dimensions that a Shape selects from `rank` dimensions.
std::pair<int64_t, int64_t> kept_dims(const ir::Node& shape, int64_t rank);

using Perm = std::vector<int64_t>;
/// Returns the permutation of a Transpose, or nullopt if it is omitted and the rank is unknown.
std::optional<Perm> perm_of(const Scope& scope, const ir::Node& transpose);
bool is_identity(const Perm& perm);
/// Returns whether `perm` contains each of `rank` axes once.
bool is_permutation_of_axes(const Perm& perm, size_t rank);

}  // namespace quarkq::rewrite::simplify

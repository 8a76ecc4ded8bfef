// SPDX-License-Identifier: MIT
// Operands that are attributes in old opsets and constant inputs in newer ones.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "rewrite/simplify/scope.h"

namespace quarkq::rewrite::simplify {

/// Axes of Squeeze, Unsqueeze and ReduceSum; nothing when they are not written or not known.
std::optional<std::vector<int64_t>> axes_of(const Scope& scope, const ir::Node& node);

/// Lists of equal length; axes as written, steps 1 where absent.
struct SliceLists {
  std::vector<int64_t> starts, ends, axes, steps;
};
std::optional<SliceLists> slice_lists(const Scope& scope, const ir::Node& slice);

/// Positions that a Slice of one axis with step 1 keeps of a list with `count` elements.
std::optional<std::pair<int64_t, int64_t>> kept_range(const Scope& scope, const ir::Node& slice, int64_t count);
/// Positions of the dimensions that a Shape keeps of `rank` ones.
std::pair<int64_t, int64_t> kept_dims(const ir::Node& shape, int64_t rank);

using Perm = std::vector<int64_t>;
/// The permutation of a Transpose; nothing when it is not written and the rank is not known.
std::optional<Perm> perm_of(const Scope& scope, const ir::Node& transpose);
bool is_identity(const Perm& perm);
/// Whether `perm` names each of `rank` axes once.
bool is_permutation_of_axes(const Perm& perm, size_t rank);

}  // namespace quarkq::rewrite::simplify

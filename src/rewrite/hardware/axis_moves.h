// SPDX-License-Identifier: MIT
// Reorders the axes of a tensor by Reshapes and Transposes none of which makes a tensor of more than a given rank.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/patch.h"
#include "rewrite/optimize/permutation.h"

namespace quarkq::rewrite {

/// A Transpose: output axis i is axis permutation[i] of a tensor of shape `dims`.
struct Reordering {
  ir::Shape dims;
  basic::Permutation permutation;
};

/// The same order of elements on fewer axes: axes of size 1 are left out, axes that stay neighbours are one.
Reordering merged_axes(const Reordering& reordering);

/// One node: a Transpose, or a Reshape when there is no permutation. `dims`: shape of what it makes.
struct AxisMove {
  basic::Permutation permutation;
  ir::Shape dims;
};

/// What a tensor goes through: from shape `from` through the reorderings, one after the other, to shape `to`.
/// REQUIRES: all shapes have the same number of elements, and more than none.
struct AxisPath {
  ir::Shape from;
  std::vector<Reordering> reorderings;
  ir::Shape to;
};

/// The fewest nodes found for the path; empty when nothing is to be done. `to` may be of any rank. Nothing when a
/// reordering needs more than 8 merged axes.
std::optional<std::vector<AxisMove>> plan_moves(const AxisPath& path, size_t most_rank);

/// Where the moves end.
struct MovedValue {
  std::string name;            ///< prefix of the names of what is made in between
  ElementType element;         ///< of all values
  ir::ValueId output = {};     ///< written by the last move; invalid: a new value called `name`
  std::string last_name = {};  ///< of the last node when there is an output
};

/// Adds the nodes; returns the last value, `input` when there are no moves.
ir::PatchValue add_moves(ir::GraphPatch& patch, ir::PatchValue input, const std::vector<AxisMove>& moves,
                         const MovedValue& result);

/// The constant after the moves; nothing for element types without whole bytes.
std::optional<ir::Tensor> moved(ir::Tensor tensor, const std::vector<AxisMove>& moves);

/// Type of a tensor of a known shape.
ir::ValueType static_type(ElementType element, const ir::Shape& dims);

}  // namespace quarkq::rewrite

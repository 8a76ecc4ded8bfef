// SPDX-License-Identifier: MIT
// Reordering of a tensor's axes by Reshapes and Transposes whose tensors do not exceed a given rank.
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

/// Returns the same order of elements with fewer axes: axes of size 1 are removed, axes that stay adjacent are merged.
Reordering merged_axes(const Reordering& reordering);

/// One node: a Transpose, or a Reshape if there is no permutation. `dims` is the shape of its output.
struct AxisMove {
  basic::Permutation permutation;
  ir::Shape dims;
};

/// Steps of a tensor: from shape `from` through the reorderings, one after the other, to shape `to`. REQUIRES: all
/// shapes have the same number of elements, at least one.
struct AxisPath {
  ir::Shape from;
  std::vector<Reordering> reorderings;
  ir::Shape to;
};

/// Returns the fewest nodes found for the path; empty if nothing needs to be done. `to` may be of any rank. Returns
/// nullopt if a reordering needs more than 8 merged axes.
std::optional<std::vector<AxisMove>> plan_moves(const AxisPath& path, size_t most_rank);

/// The destination of the moves.
struct MovedValue {
  std::string name;            ///< Prefix for the names of intermediate values and nodes.
  ElementType element;         ///< Type of all values.
  ir::ValueId output = {};     ///< Written by the last move; if invalid, a new value called `name`.
  std::string last_name = {};  ///< Name of the last node if there is an output.
};

/// Adds the nodes. Returns the last value, or `input` if there are no moves.
ir::PatchValue add_moves(ir::GraphPatch& patch, ir::PatchValue input, const std::vector<AxisMove>& moves,
                         const MovedValue& result);

/// Returns the constant after the moves, or nullopt for element types without whole bytes.
std::optional<ir::Tensor> moved(ir::Tensor tensor, const std::vector<AxisMove>& moves);

/// Returns the type of a tensor with a known shape.
ir::ValueType static_type(ElementType element, const ir::Shape& dims);

/// Returns whether the output has the elements of input 0 in the same order.
bool is_view(const ir::Node& node);

/// Returns the shape of a tensor that has elements if all its dimensions are known, otherwise nullopt.
std::optional<ir::Shape> element_shape(const ir::Graph& graph, ir::ValueId value);

/// Returns what a Transpose does to a tensor of shape `dims`. Returns nullopt if its permutation does not fit.
std::optional<Reordering> reordering_of(const ir::Node& transpose, const ir::Shape& dims);

/// Returns the shape of a float32 tensor if all its dimensions are known, otherwise an empty one.
ir::Shape float_shape(const ir::Graph& graph, ir::ValueId value);
/// Returns float_shape() of an image [N, C, H, W] that has elements, otherwise an empty one.
ir::Shape image_shape(const ir::Graph& graph, ir::ValueId value);

}  // namespace quarkq::rewrite

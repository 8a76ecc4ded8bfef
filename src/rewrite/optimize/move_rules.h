// SPDX-License-Identifier: MIT
// Moving of a Transpose through an operator (ref:rewrites#transposes): the inputs that allow it, and the change of the
// node.
#pragma once

#include <string>
#include <vector>

#include "rewrite/optimize/permutation.h"
#include "rewrite/optimize/workspace.h"

namespace quarkq::rewrite::basic {

/// `node` reads the output of `transpose`, whose permutation is `forth`.
struct Move {
  Workspace& work;
  ir::NodeId node;
  ir::NodeId transpose;
  Permutation forth, back;  ///< `back` is the inverse.

  const ir::Node& reader() const { return work.node(node); }
  int64_t rank() const { return static_cast<int64_t>(forth.size()); }
};

enum class Reads { kFirst, kAll };  ///< The inputs through which a Transpose can move.

enum class Order { kKept, kKeptWithDims, kChanged };  ///< kKeptWithDims: kept unless attribute keepdims is 0.

struct MoveRule {
  const char* op;
  Reads reads;
  Order order;                ///< Order of the dimensions of its outputs, relative to the input.
  bool to_outputs;            ///< The Transpose is placed after the node.
  bool (*push)(const Move&);  ///< Returns false and changes nothing if the Transpose cannot be moved.
};

/// Returns null if a Transpose cannot move through `node`.
const MoveRule* move_rule(const ir::Node& node);
/// Returns whether a Transpose leaves the node with the permutation of its input.
bool keeps_order(const MoveRule& rule, const ir::Node& node);
/// Returns the indices of the inputs through which `rule` lets a Transpose move.
std::vector<size_t> movable_inputs(const MoveRule& rule, const ir::Node& node);
/// Returns the permutation of a Transpose. Returns null for other nodes and for an invalid permutation.
const Permutation* permutation_of(const ir::Node* node);
/// Returns false if an input through which a Transpose would move is known to have another rank than the permutation.
/// Inputs that broadcast may have a lower rank.
bool fits_inputs(const MoveRule& rule, const Move& move);

/// Applies `move.back` to an input of the node: permutes constants, merges or reuses Transposes, otherwise adds a new
/// one.
void transpose_input(const Move& move, size_t index);
/// Inserts a Transpose by `permutation` after an output, unless it is the identity.
void transpose_output(const Move& move, size_t index, const Permutation& permutation);
void transpose_outputs(const Move& move, const Permutation& permutation);
/// Prepends dimensions of 1 to the input up to `move.rank()`. REQUIRES: its rank is known and not higher.
void widen_input(const Move& move, size_t index);

// The rules, with the file that defines them.
bool push_first(const Move& move);  // move_rules.cpp
bool push_broadcast(const Move& move);
bool push_transpose(const Move& move);  // move_transposes.cpp
bool push_axis(const Move& move);       // move_axes.cpp
bool push_softmax(const Move& move);
bool push_arg(const Move& move);
bool push_reduce(const Move& move);
bool push_squeeze(const Move& move);
bool push_unsqueeze(const Move& move);
bool push_slice(const Move& move);
bool push_pad(const Move& move);
bool push_tile(const Move& move);
bool push_gather(const Move& move);
bool push_shape(const Move& move);
bool push_reshape(const Move& move);  // move_axes.cpp

/// Replaces the node by a Transpose by `permutation` of the input of `move.transpose`. If that is the identity, the
/// node is removed.
bool become_transpose(const Move& move, const Permutation& permutation);

}  // namespace quarkq::rewrite::basic

// SPDX-License-Identifier: MIT
// How a Transpose moves through an operator (ref:rewrites#transposes): which inputs it may come in by, what becomes of
// the node.
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
  Permutation forth, back;  ///< back: the inverse

  const ir::Node& reader() const { return work.node(node); }
  int64_t rank() const { return static_cast<int64_t>(forth.size()); }
};

enum class Reads { kFirst, kAll };  ///< the inputs that a Transpose can move through

enum class Order { kKept, kKeptWithDims, kChanged };  ///< kKeptWithDims: unless attribute keepdims is 0

struct MoveRule {
  const char* op;
  Reads reads;
  Order order;                ///< of the dimensions of its outputs, compared with the input's
  bool to_outputs;            ///< the Transpose is placed after the node
  bool (*push)(const Move&);  ///< false: it cannot, and nothing changed
};

/// Null when a Transpose cannot move through `node`.
const MoveRule* move_rule(const ir::Node& node);
/// True when a Transpose leaves the node with the permutation of its input.
bool keeps_order(const MoveRule& rule, const ir::Node& node);
/// Indices of the inputs that `rule` lets a Transpose through.
std::vector<size_t> movable_inputs(const MoveRule& rule, const ir::Node& node);
/// The permutation of a Transpose, or null; null, too, when what it names is none.
const Permutation* permutation_of(const ir::Node* node);
/// False when an input that a Transpose would move through is known to have another rank than the permutation; those
/// that broadcast may have a lower one.
bool fits_inputs(const MoveRule& rule, const Move& move);

/// Puts `move.back` on an input of the node: constants are permuted, Transposes merged or reused, else a new one made.
void transpose_input(const Move& move, size_t index);
/// Puts a Transpose by `permutation` after an output; none for the identity.
void transpose_output(const Move& move, size_t index, const Permutation& permutation);
void transpose_outputs(const Move& move, const Permutation& permutation);
/// The input gets leading dimensions of 1 up to `move.rank()`. REQUIRES: its rank is known and not above.
void widen_input(const Move& move, size_t index);

// Rules, by the file they live in.
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

/// The node becomes a Transpose of what `move.transpose` reads, by `permutation`; a node for which that is the identity
/// is removed.
bool become_transpose(const Move& move, const Permutation& permutation);

}  // namespace quarkq::rewrite::basic

// SPDX-License-Identifier: MIT
// The fusion patterns: each reads one node, its anchor, and proposes a rewrite. fuse_patterns.cpp contains the table
// and applies the proposals.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "ir/patch.h"
#include "rewrite/simplify/scope.h"

namespace quarkq::rewrite::simplify {

struct Rewrite {
  ir::GraphPatch patch;
  bool in_place = false;  ///< The new nodes may take part in further rewrites of the same sweep.
};

/// The graph as patterns see it: nodes created in the running sweep count as readers, but not as producers.
class Sweep {
 public:
  explicit Sweep(const Scope& swept) : scope(swept), graph(swept.graph) {}

  const Scope& scope;
  const ir::Graph& graph;

  bool is_new(ir::NodeId id) const;
  /// Returns the node of this operator that computes `value`, or null.
  const ir::Node* producer(ir::ValueId value, std::string_view op) const;
  /// Returns the producer of this operator if exactly one node input reads `value`, otherwise null.
  const ir::Node* sole_producer(ir::ValueId value, std::string_view op) const;

  /// Returns the float32 constant of `value`, or null.
  const ir::Tensor* float_constant(ir::ValueId value) const;

  void mark_new(ir::NodeId id);

 private:
  std::vector<bool> new_;
};

using Pattern = std::optional<Rewrite>(const Sweep& sweep, const ir::Node& anchor);

Pattern merge_concats;
Pattern merge_reshapes;
Pattern gather_all_dims;
Pattern merge_slices;
Pattern merge_transposes;
Pattern swap_transpose_and_view;
Pattern merge_unsqueezes;
Pattern transpose_as_reshape;
Pattern fix_concat_shape;
Pattern fuse_conv_add;
Pattern fuse_conv_batch_norm;
Pattern fuse_conv_mul;
Pattern fuse_mat_mul_add;
Pattern fuse_gemm_mul;
Pattern fuse_gemm_add;
Pattern fuse_pad_conv;
Pattern keep_reduced_dims;

}  // namespace quarkq::rewrite::simplify

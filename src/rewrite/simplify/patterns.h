// SPDX-License-Identifier: MIT
// The fusion patterns: each reads one node, its anchor, and proposes a rewrite. fuse_patterns.cpp holds the table
// and applies what they propose.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "ir/patch.h"
#include "rewrite/simplify/scope.h"

namespace quarkq::rewrite::simplify {

struct Rewrite {
  ir::GraphPatch patch;
  bool in_place = false;  ///< the new nodes may take part in further rewrites of the same sweep
};

/// What a pattern sees: nodes made in the running sweep are readers, but make nothing yet.
class Sweep {
 public:
  explicit Sweep(const Scope& swept) : scope(swept), graph(swept.graph) {}

  const Scope& scope;
  const ir::Graph& graph;

  bool is_new(ir::NodeId id) const;
  /// The node of this operator that makes `value`, or null.
  const ir::Node* producer(ir::ValueId value, std::string_view op) const;
  /// The same when nothing but one node input reads `value`.
  const ir::Node* sole_producer(ir::ValueId value, std::string_view op) const;

  /// The constant that `value` holds when it is float32; null otherwise.
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

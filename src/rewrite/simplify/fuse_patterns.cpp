// SPDX-License-Identifier: MIT
// The table of fusion patterns in the order in which they are tried, and the sweep that applies them.
#include <algorithm>
#include <unordered_set>

#include "rewrite/simplify/patterns.h"
#include "rewrite/simplify/simplify.h"

namespace quarkq::rewrite::simplify {
namespace {

struct PatternRow {
  std::string_view name;       ///< as SimplifyModelOptions.skip_fusion_patterns calls it
  std::string_view anchor_op;  ///< the last node of the pattern
  Pattern* find;
  std::string_view first_op =
      {};  ///< where one function serves several rows: the operator that the pattern begins with
};

constexpr PatternRow kPatterns[] = {
    {"EliminationConcat", "Concat", merge_concats},
    {"EliminationReshape", "Reshape", merge_reshapes},
    {"EliminationReshapeAs", "Concat", gather_all_dims},
    {"EliminationSlice", "Slice", merge_slices},
    {"EliminationTranspose", "Transpose", merge_transposes},
    {"EliminationTransposeViewTranspose", "Transpose", swap_transpose_and_view},
    {"EliminationUnsqueeze", "Unsqueeze", merge_unsqueezes},
    {"EliminationTransposeAsReshape", "Transpose", transpose_as_reshape},
    {"FusionConcatReshape", "Reshape", fix_concat_shape},
    {"FusionConvAdd", "Add", fuse_conv_add, "Conv"},
    {"FusionConvTransposeAdd", "Add", fuse_conv_add, "ConvTranspose"},
    {"FusionConvBN", "BatchNormalization", fuse_conv_batch_norm, "Conv"},
    {"FusionConvTransposeBN", "BatchNormalization", fuse_conv_batch_norm, "ConvTranspose"},
    {"FusionConvMul", "Mul", fuse_conv_mul, "Conv"},
    {"FusionConvTransposeMul", "Mul", fuse_conv_mul, "ConvTranspose"},
    {"FusionGemm", "Add", fuse_mat_mul_add},
    {"FusionGemmMul", "Mul", fuse_gemm_mul},
    {"FusionGemmAdd", "Add", fuse_gemm_add},
    {"FusionPadConv", "Conv", fuse_pad_conv},
    {"FusionReduce", "Unsqueeze", keep_reduced_dims},
};

bool applies(const Sweep& sweep, const PatternRow& row, const ir::Node& node) {
  if (!node.is(row.anchor_op) || sweep.scope.options.skipped_patterns.contains(row.name)) return false;
  return row.first_op.empty() || sweep.producer(node.input(0), row.first_op) != nullptr;
}

std::optional<Rewrite> first_match(const Sweep& sweep, const ir::Node& node) {
  for (const PatternRow& row : kPatterns) {
    if (!applies(sweep, row, node)) continue;
    if (std::optional<Rewrite> found = row.find(sweep, node)) return found;
  }
  return std::nullopt;
}

}  // namespace

bool Sweep::is_new(ir::NodeId id) const {
  const auto index = static_cast<size_t>(id.index);
  return index < new_.size() && new_[index];
}

void Sweep::mark_new(ir::NodeId id) {
  new_.resize(graph.node_count(), false);
  new_[static_cast<size_t>(id.index)] = true;
}

const ir::Node* Sweep::producer(ir::ValueId value, std::string_view op) const {
  const ir::Node* found = graph.producer(value);
  return found != nullptr && found->is(op) && !is_new(found->id) ? found : nullptr;
}

const ir::Node* Sweep::sole_producer(ir::ValueId value, std::string_view op) const {
  const ir::Node* found = producer(value, op);
  return found != nullptr && graph.sole_use(value) ? found : nullptr;
}

const ir::Tensor* Sweep::float_constant(ir::ValueId value) const {
  const ir::Tensor* found = scope.constant(value);
  return found != nullptr && found->type() == ElementType::kFloat ? found : nullptr;
}

Status fuse_patterns(Scope& scope) {
  Sweep sweep(scope);
  const std::vector<ir::NodeId> before = scope.graph.order();
  std::vector<ir::NodeId> made;
  std::unordered_set<std::string> made_names;
  for (auto id = before.rbegin(); id != before.rend(); ++id) {
    if (!scope.graph.is_alive(*id)) continue;
    const ir::Node& node = scope.graph.node(*id);
    if (node.output(0).valid() && made_names.contains(scope.name(node.output(0)))) continue;
    const std::optional<Rewrite> rewrite = first_match(sweep, node);
    if (!rewrite) continue;
    const size_t first = scope.graph.node_count();
    rewrite->patch.apply(scope.graph);
    for (size_t i = first; !rewrite->in_place && i < scope.graph.node_count(); ++i) {
      const ir::NodeId fresh{static_cast<int32_t>(i)};
      sweep.mark_new(fresh);
      made.push_back(fresh);
      made_names.insert(scope.graph.node(fresh).name);
    }
  }
  // New nodes stand at the end of the list, in the order of their making: the sort that follows starts from there.
  std::vector<ir::NodeId> order;
  for (const ir::NodeId id : scope.graph.order()) {
    if (!sweep.is_new(id)) order.push_back(id);
  }
  order.insert(order.end(), made.begin(), made.end());
  ir::GraphEdit(scope.graph).set_order(std::move(order));
  return Status();
}

}  // namespace quarkq::rewrite::simplify

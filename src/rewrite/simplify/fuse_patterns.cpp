// SPDX-License-Identifier: MIT
// The table of fusion patterns in the order in which they are tried, and the sweep that applies them.
#include <algorithm>
#include <unordered_set>

#include "rewrite/driver.h"
#include "rewrite/simplify/patterns.h"
#include "rewrite/simplify/simplify.h"

namespace quarkq::rewrite::simplify {
namespace {

struct PatternRow {
  std::string_view name;       ///< Name in SimplifyModelOptions.skip_fusion_patterns.
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

/// The order of the reference's sweep: from the last node to the first. New nodes count as readers but not yet as
/// producers, and are at the end of the list in the order of their creation, from which the next sort starts.
class ReverseSweep {
 public:
  explicit ReverseSweep(Scope& scope) : scope_(scope), sweep_(scope) {}

  Status run() {
    std::vector<Rule> rules;
    for (const PatternRow& row : kPatterns) {
      rules.emplace_back([this, &row](const ir::Graph&, const ir::Node& node) { return propose(row, node); });
    }
    Policy policy;
    policy.order = [](const ir::Graph& graph) {
      return std::vector<ir::NodeId>(graph.order().rbegin(), graph.order().rend());
    };
    policy.skips = [this](const ir::Node& node) {
      return node.output(0).valid() && made_names_.contains(scope_.name(node.output(0)));
    };
    policy.applied = [this](size_t first_made) { mark_made(first_made); };
    policy.end_sweep = [this](ir::Graph& graph) { put_made_last(graph); };
    return apply_rules(scope_.graph, rules, policy).status();
  }

 private:
  Proposal propose(const PatternRow& row, const ir::Node& node) {
    if (!applies(sweep_, row, node)) return std::optional<ir::GraphPatch>();
    std::optional<Rewrite> found = row.find(sweep_, node);
    if (!found) return std::optional<ir::GraphPatch>();
    in_place_ = found->in_place;
    return std::optional(std::move(found->patch));
  }

  void mark_made(size_t first_made) {
    for (size_t i = first_made; !in_place_ && i < scope_.graph.node_count(); ++i) {
      const ir::NodeId fresh{static_cast<int32_t>(i)};
      sweep_.mark_new(fresh);
      made_.push_back(fresh);
      made_names_.insert(scope_.graph.node(fresh).name);
    }
  }

  void put_made_last(ir::Graph& graph) const {
    std::vector<ir::NodeId> order;
    for (const ir::NodeId id : graph.order()) {
      if (!sweep_.is_new(id)) order.push_back(id);
    }
    order.insert(order.end(), made_.begin(), made_.end());
    ir::GraphEdit(graph).set_order(std::move(order));
  }

  Scope& scope_;
  Sweep sweep_;
  bool in_place_ = false;  ///< Flag of the last proposal.
  std::vector<ir::NodeId> made_;
  std::unordered_set<std::string> made_names_;
};

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

Status fuse_patterns(Scope& scope) { return ReverseSweep(scope).run(); }

}  // namespace quarkq::rewrite::simplify

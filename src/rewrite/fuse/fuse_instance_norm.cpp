// SPDX-License-Identifier: MIT
// X * M + (bias - mean * M) with M = weight / sqrt(variance + epsilon) becomes InstanceNormalization
// (ref:rewrites#instance-normalization).
#include "ir/stored_floats.h"
#include "pass/tidy_up.h"
#include "rewrite/driver.h"
#include "rewrite/fuse_group.h"
#include "rewrite/passes.h"

namespace quarkq::rewrite {
namespace {

using ir::Graph;
using ir::Node;
using ir::ValueId;

struct InstanceNorm {
  ValueId data, weight, bias;
  double epsilon = 0;
};

/// M = Mul(Reciprocal(Sqrt(Add(GlobalAveragePool(Mul(D, D)), epsilon))), weight), D = Sub(X, GlobalAveragePool(X)).
bool match_scale(const Graph& graph, MatchedGroup& group, ValueId scale, InstanceNorm& found) {
  const Node* scaled = group.producer(scale, "Mul");
  const Node* reciprocal = scaled == nullptr ? nullptr : group.producer(scaled->input(0), "Reciprocal");
  const Node* root = reciprocal == nullptr ? nullptr : group.producer(reciprocal->input(0), "Sqrt");
  const Node* sum = root == nullptr ? nullptr : group.producer(root->input(0), "Add");
  const Node* variance = sum == nullptr ? nullptr : group.producer(sum->input(0), "GlobalAveragePool");
  const Node* square = variance == nullptr ? nullptr : group.producer(variance->input(0), "Mul");
  if (square == nullptr || square->input(0) != square->input(1)) return false;
  const Node* centered = group.producer(square->input(0), "Sub");
  const Node* mean = centered == nullptr ? nullptr : group.producer(centered->input(1), "GlobalAveragePool");
  const std::optional<double> epsilon = scalar(graph, sum->input(1));
  if (mean == nullptr || mean->input(0) != centered->input(0) || !epsilon) return false;
  found.data = centered->input(0);
  found.weight = scaled->input(1);
  found.epsilon = *epsilon;
  return true;
}

/// One number per channel, stored as [1, C, 1, ...].
bool is_per_channel(const Graph& graph, ValueId value) {
  const ir::Tensor* stored = ir::stored_floats(graph, value);
  return stored != nullptr && stored->rank() >= 3 && stored->dims()[0] == 1 && stored->dims()[1] == stored->size();
}

std::optional<InstanceNorm> match_instance_norm(const Graph& graph, MatchedGroup& group, const Node& root) {
  const Node* scaled = root.is("Add") ? group.producer(root.input(0), "Mul") : nullptr;
  const Node* shift = scaled == nullptr ? nullptr : group.producer(root.input(1), "Sub");
  const Node* scaled_mean = shift == nullptr ? nullptr : group.producer(shift->input(1), "Mul");
  const Node* mean = scaled_mean == nullptr ? nullptr : group.producer(scaled_mean->input(0), "GlobalAveragePool");
  InstanceNorm found;
  if (mean == nullptr || !match_scale(graph, group, scaled_mean->input(1), found)) return std::nullopt;
  found.bias = shift->input(0);
  const bool same_data = mean->input(0) == found.data && other_operand(*scaled, found.data) == scaled_mean->input(1);
  if (!same_data || !group.is_closed(found.data)) return std::nullopt;
  if (!is_per_channel(graph, found.weight) || !is_per_channel(graph, found.bias)) return std::nullopt;
  return found;
}

/// The initializer as [C]: itself when nothing else reads it, else a copy.
ir::PatchValue flattened(const Graph& graph, ValueId value, ir::GraphPatch& patch) {
  const ir::Tensor flat = graph.constant(value)->reshaped({graph.constant(value)->size()});
  if (graph.use_count(value) > 1) return patch.initializer(graph.value(value).name, flat);
  patch.set_constant(value, flat);
  return value;
}

}  // namespace

Result<Changed> fuse_instance_norm(pass::FloatContext& context) {
  const auto rule = [](const Graph& graph, const Node& root) -> Proposal {
    MatchedGroup group(graph, root);
    const std::optional<InstanceNorm> found = match_instance_norm(graph, group, root);
    if (!found) return std::optional<ir::GraphPatch>();
    ir::GraphPatch patch;
    const ir::PatchValue weight = flattened(graph, found->weight, patch), bias = flattened(graph, found->bias, patch);
    const auto epsilon = static_cast<float>(found->epsilon);
    replace_group(
        patch, group,
        {"InstanceNormalization", "", root.name, {found->data, weight, bias}, {}, {{"epsilon", epsilon, {}, {}}}});
    return std::optional(std::move(patch));
  };
  QQ_TRY(const Changed changed, run_once(context.graph(), rule));
  return pass::tidy_up(context.graph(), changed);
}

}  // namespace quarkq::rewrite

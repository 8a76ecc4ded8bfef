// SPDX-License-Identifier: MIT
// (X - mean) / sqrt(variance + epsilon) * weight + bias over the last axis becomes LayerNormalization
// (ref:rewrites#layer-normalization).
#include "ir/arguments.h"
#include "ir/stored_floats.h"
#include "rewrite/driver.h"
#include "rewrite/layer_norm_group.h"
#include "rewrite/passes.h"

namespace quarkq::rewrite {
namespace {

using ir::Graph;
using ir::Node;
using ir::ValueId;

constexpr double kLargestEpsilon = 1e-4;

/// Mean over the last axis that keeps it.
bool is_last_axis_mean(const Graph& graph, const Node& mean) {
  const auto axes = ir::integers_of(graph, mean, 1, "axes");
  const ir::ValueType& type = graph.value(mean.input(0)).type;
  if (mean.int_or("keepdims", 1) != 1 || !axes || axes->size() != 1) return false;
  return axes->front() == -1 || (type.has_shape && axes->front() == static_cast<int64_t>(type.dims.size()) - 1);
}

/// Sub(X, ReduceMean(X)); X, or an invalid id.
ValueId match_centered(const Graph& graph, MatchedGroup& group, ValueId value) {
  const Node* centered = group.producer(value, "Sub");
  const Node* mean = centered == nullptr ? nullptr : group.producer(centered->input(1), "ReduceMean");
  const bool fits = mean != nullptr && mean->input(0) == centered->input(0) && is_last_axis_mean(graph, *mean);
  return fits ? mean->input(0) : ValueId{};
}

/// Sqrt(Add(ReduceMean(Pow(centered, 2)), epsilon)); X, or an invalid id.
ValueId match_deviation(const Graph& graph, MatchedGroup& group, ValueId value, double& epsilon) {
  const Node* root = group.producer(value, "Sqrt");
  const Node* sum = root == nullptr ? nullptr : group.producer(root->input(0), "Add");
  if (sum == nullptr) return {};
  const size_t constant = graph.constant(sum->input(0)) != nullptr ? 0 : 1;
  const std::optional<double> added = scalar(graph, sum->input(constant));
  const Node* variance = group.producer(sum->input(1 - constant), "ReduceMean");
  const Node* square = variance == nullptr ? nullptr : group.producer(variance->input(0), "Pow");
  if (!added || *added <= 0 || *added > kLargestEpsilon || square == nullptr) return {};
  if (!is_last_axis_mean(graph, *variance) || scalar(graph, square->input(1)) != 2.0) return {};
  epsilon = *added;
  return match_centered(graph, group, square->input(0));
}

/// The stored 1-D operand of a binary node as long as the last axis of `type`, and the other operand.
std::optional<std::pair<ValueId, ValueId>> split_stored(const Graph& graph, const Node& node,
                                                        const ir::ValueType& type) {
  for (const size_t i : {size_t{1}, size_t{0}}) {
    const ir::Tensor* stored = ir::stored_floats(graph, node.input(i));
    if (stored == nullptr || stored->rank() != 1) continue;
    if (!type.has_shape || type.dims.empty() || type.dims.back().size != stored->size()) return std::nullopt;
    return std::pair{node.input(i), node.input(1 - i)};
  }
  return std::nullopt;
}

}  // namespace

ir::GraphPatch::PatchNode LayerNormGroup::node(std::string name) const {
  return {"LayerNormalization", "", std::move(name), {data, weight, bias}, {}, {{"epsilon", epsilon, {}, {}}}};
}

std::optional<LayerNormGroup> match_layer_norm(const Graph& graph, const Node& root) {
  if (!root.is("Add")) return std::nullopt;
  MatchedGroup group(graph, root);
  const ir::ValueType& type = graph.value(root.output(0)).type;
  const auto shifted = split_stored(graph, root, type);
  const Node* scaled = shifted ? group.producer(shifted->second, "Mul") : nullptr;
  const auto factors = scaled != nullptr ? split_stored(graph, *scaled, type) : std::nullopt;
  const Node* ratio = factors ? group.producer(factors->second, "Div") : nullptr;
  if (ratio == nullptr) return std::nullopt;
  const ValueId data = match_centered(graph, group, ratio->input(0));
  double epsilon = 0;
  const ValueId spread_of = match_deviation(graph, group, ratio->input(1), epsilon);
  if (!data.valid() || data != spread_of || !group.is_closed(data)) return std::nullopt;
  return LayerNormGroup{group, data, factors->first, shifted->first, scaled->id, static_cast<float>(epsilon)};
}

Result<Changed> fuse_layer_norm(pass::FloatContext& context) {
  if (context.model.opset() < kFirstLayerNormOpset) return Changed::kNo;
  int64_t made = 0;
  const auto rule = [&](const Graph& graph, const Node& root) -> Proposal {
    const std::optional<LayerNormGroup> found = match_layer_norm(graph, root);
    if (!found) return std::optional<ir::GraphPatch>();
    ir::GraphPatch patch;
    replace_group(patch, found->group, found->node(cat("LayerNorm_", made++)));
    return std::optional(std::move(patch));
  };
  QQ_TRY(const Changed changed, run_once(context.graph(), rule));
  if (changed == Changed::kYes) ir::GraphEdit(context.graph()).remove_unused_initializers();
  return changed;
}

}  // namespace quarkq::rewrite

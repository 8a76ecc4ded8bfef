// SPDX-License-Identifier: MIT
// x / sqrt(max(sum of x^2, epsilon)) becomes LpNormalization with p = 2 (ref:rewrites#l2-normalization), and in the
// default mode x / max(ReduceL2(x), epsilon), as PyTorch exports it. Differs for tiny norms only.
#include <algorithm>
#include <limits>

#include "ir/constants.h"
#include "pass/output_guard.h"
#include "rewrite/driver.h"
#include "rewrite/fuse_group.h"
#include "rewrite/passes.h"

namespace quarkq::rewrite {

namespace {

using ir::Graph;
using ir::Node;

constexpr double kLargestFloat = std::numeric_limits<float>::max() / 2;  // a limit above it limits nothing
constexpr double kLargestNormEpsilon = 1e-4;  // above it the limit would be part of the function

struct L2Norm {
  ir::ValueId data;
  int64_t axis = -1;
  int64_t rank = 0;
};

/// Mul(U, Reciprocal(Sqrt(Max(ReduceSum(Mul(U, U)), epsilon)))), U made by Unsqueeze.
std::optional<L2Norm> match_l2_norm(const Graph& graph, MatchedGroup& group, const Node& root) {
  const Node* reciprocal = root.is("Mul") ? group.producer(root.input(1), "Reciprocal") : nullptr;
  const Node* norm = reciprocal == nullptr ? nullptr : group.producer(reciprocal->input(0), "Sqrt");
  const Node* limited = norm == nullptr ? nullptr : group.producer(norm->input(0), "Max");
  const Node* sum = limited == nullptr ? nullptr : group.producer(limited->input(0), "ReduceSum");
  const Node* square = sum == nullptr ? nullptr : group.producer(sum->input(0), "Mul");
  if (square == nullptr || square->input(0) != square->input(1) || square->input(0) != root.input(0))
    return std::nullopt;
  const Node* source = graph.producer(root.input(0));
  const ir::ValueType& type = graph.value(root.input(0)).type;
  const std::optional<double> epsilon = scalar(graph, limited->input(1));
  const auto axes = ir::integers_of(graph, *sum, 1, "axes");
  if (source == nullptr || !source->is("Unsqueeze") || !type.has_shape || limited->inputs.size() != 2)
    return std::nullopt;
  if (!epsilon || *epsilon < 0 || *epsilon > kLargestNormEpsilon || !axes || axes->size() != 1) return std::nullopt;
  if (sum->int_or("keepdims", 1) != 1 || !group.is_closed(root.input(0))) return std::nullopt;
  const auto rank = static_cast<int64_t>(type.dims.size());
  const Result<int64_t> axis = ir::normalize_axis(axes->front(), rank);
  return axis.ok() ? std::optional(L2Norm{root.input(0), axis.value(), rank}) : std::nullopt;
}

/// Whether `expand` repeats its input to the shape of `data`, which a Shape reads or a constant repeats.
bool is_to_shape_of(const Graph& graph, const Node& expand, ir::ValueId data) {
  const Node* reader = graph.producer(expand.input(1));
  if (reader != nullptr) return reader->is("Shape") && reader->input(0) == data && reader->attributes.empty();
  const auto wanted = ir::integers_of(graph, expand, 1, "shape");
  const auto& dims = graph.value(data).type.dims;
  return wanted && std::ranges::equal(*wanted, dims, [](int64_t size, const auto& dim) { return dim.size == size; });
}

/// Matches Div(U, Expand(Clip(ReduceL2(U), epsilon))). The Expand is optional, and Max may replace Clip.
std::optional<L2Norm> match_divided_norm(const Graph& graph, MatchedGroup& group, const Node& root) {
  if (!root.is("Div")) return std::nullopt;
  const ir::ValueId data = root.input(0);
  const Node* expand = group.producer(root.input(1), "Expand");
  const ir::ValueId divisor = expand == nullptr ? root.input(1) : expand->input(0);
  const Node* clip = group.producer(divisor, "Clip");
  const Node* limited = clip == nullptr ? group.producer(divisor, "Max") : clip;
  const Node* norm = limited == nullptr ? nullptr : group.producer(limited->input(0), "ReduceL2");
  if (norm == nullptr || norm->input(0) != data || norm->int_or("keepdims", 1) != 1) return std::nullopt;
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const std::optional<double> epsilon =
      clip == nullptr ? scalar(graph, limited->input(1)) : ir::number_of(graph, *clip, 1, "min", -1.0);
  const bool is_open = clip == nullptr ? limited->inputs.size() == 2
                                       : ir::number_of(graph, *clip, 2, "max", kInfinity).value_or(0) > kLargestFloat;
  const auto axes = ir::integers_of(graph, *norm, 1, "axes");
  const ir::ValueType& type = graph.value(data).type;
  const bool keeps_shape = type.has_shape && (expand == nullptr || is_to_shape_of(graph, *expand, data));
  if (!epsilon || *epsilon < 0 || *epsilon > kLargestNormEpsilon || !is_open || !axes || axes->size() != 1)
    return std::nullopt;
  if (!keeps_shape || !group.is_closed(data)) return std::nullopt;
  const auto rank = static_cast<int64_t>(type.dims.size());
  const Result<int64_t> axis = ir::normalize_axis(axes->front(), rank);
  return axis.ok() ? std::optional(L2Norm{data, axis.value(), rank}) : std::nullopt;
}

}  // namespace

Result<Changed> fuse_l2_norm(pass::FloatContext& context) {
  const bool takes_divisions = context.settings.quirk(config::Quirk::kFuseDividedNorms);
  const auto rule = [takes_divisions](const Graph& graph, const Node& root) -> Proposal {
    MatchedGroup group(graph, root);
    std::optional<L2Norm> found = match_l2_norm(graph, group, root);
    if (!found && takes_divisions) {
      group.keep_first(1);
      found = match_divided_norm(graph, group, root);
    }
    if (!found) return std::optional<ir::GraphPatch>();
    ir::GraphPatch::PatchNode node{"LpNormalization", "", root.name, {found->data}, {}, {{"p", int64_t{2}, {}, {}}}};
    if (found->axis != found->rank - 1) node.attributes.push_back({"axis", found->axis, {}, {}});
    ir::GraphPatch patch;
    replace_group(patch, group, std::move(node));
    return std::optional(std::move(patch));
  };
  QQ_TRY(const Changed changed, run_once(context.graph(), rule));
  return pass::tidy_up(context.graph(), changed);
}

// (X - mean) / sqrt(variance + epsilon) * weight + bias over the last axis becomes LayerNormalization
// (ref:rewrites#layer-normalization).

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

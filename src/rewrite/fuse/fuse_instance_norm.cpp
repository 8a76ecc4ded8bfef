// SPDX-License-Identifier: MIT
// X * M + (bias - mean * M) with M = weight / sqrt(variance + epsilon) becomes InstanceNormalization
// (ref:rewrites#instance-normalization), and in the default mode (X - mean) / sqrt(variance + epsilon) * weight + bias.
#include <algorithm>

#include "ir/constants.h"
#include "pass/output_guard.h"
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

/// Returns what `value` is the mean of over all axes after the first two. Returns an invalid id for other means.
ValueId averaged(const Graph& graph, MatchedGroup& group, ValueId value) {
  if (const Node* pool = group.producer(value, "GlobalAveragePool")) return pool->input(0);
  const Node* mean = group.producer(value, "ReduceMean");
  if (mean == nullptr || mean->int_or("keepdims", 1) != 1) return {};
  const auto axes = ir::integers_of(graph, *mean, 1, "axes");
  const ir::ValueType& type = graph.value(mean->input(0)).type;
  const auto rank = static_cast<int64_t>(type.dims.size());
  if (!axes || !type.has_shape || rank < 3 || static_cast<int64_t>(axes->size()) != rank - 2) return {};
  const bool are_spatial =
      std::ranges::all_of(*axes, [&](int64_t axis) { return (axis < 0 ? axis + rank : axis) >= 2; });
  return are_spatial ? mean->input(0) : ValueId{};
}

/// One number per channel of `data`, stored as [C, 1, ...] or [1, C, 1, ...]. Returns an invalid id for others.
ValueId channel_operand(const Graph& graph, const Node& node, ValueId other, ValueId data) {
  const ValueId value = other_operand(node, other);
  const ir::Tensor* stored = value.valid() ? ir::stored_floats(graph, value) : nullptr;
  const int64_t rank = static_cast<int64_t>(graph.value(data).type.dims.size());
  if (stored == nullptr || stored->rank() < 1) return {};
  const bool is_short = stored->rank() == rank - 1 && stored->dims()[0] == stored->size();
  return is_short || (stored->rank() == rank && is_per_channel(graph, value)) ? value : ValueId{};
}

/// Add(Mul(Div(D, Sqrt(Add(mean of D^2, epsilon))), weight), bias), D = Sub(X, mean of X).
std::optional<InstanceNorm> match_divided(const Graph& graph, MatchedGroup& group, const Node& root) {
  const auto binary = [&](const Node& node, const char* op) {
    const Node* first = group.producer(node.input(0), op);
    return first != nullptr ? first : group.producer(node.input(1), op);
  };
  const Node* scaled = root.is("Add") ? binary(root, "Mul") : nullptr;
  const Node* ratio = scaled == nullptr ? nullptr : binary(*scaled, "Div");
  const Node* centered = ratio == nullptr ? nullptr : group.producer(ratio->input(0), "Sub");
  const Node* deviation = centered == nullptr ? nullptr : group.producer(ratio->input(1), "Sqrt");
  const Node* sum = deviation == nullptr ? nullptr : group.producer(deviation->input(0), "Add");
  if (sum == nullptr) return std::nullopt;
  InstanceNorm found;
  found.data = centered->input(0);
  const ValueId squares = averaged(graph, group, sum->input(0));
  const Node* power = group.producer(squares, "Pow");
  const Node* square = power != nullptr ? power : group.producer(squares, "Mul");
  const std::optional<double> epsilon = scalar(graph, sum->input(1));
  if (square == nullptr || !epsilon || averaged(graph, group, centered->input(1)) != found.data) return std::nullopt;
  const bool is_square =
      power != nullptr ? scalar(graph, power->input(1)) == 2.0 : square->input(0) == square->input(1);
  if (!is_square || square->input(0) != centered->output(0) || !group.is_closed(found.data)) return std::nullopt;
  found.epsilon = *epsilon;
  found.weight = channel_operand(graph, *scaled, ratio->output(0), found.data);
  found.bias = channel_operand(graph, root, scaled->output(0), found.data);
  return found.weight.valid() && found.bias.valid() ? std::optional(found) : std::nullopt;
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
  const bool takes_divisions = context.settings.quirk(config::Quirk::kFuseDividedNorms);
  const auto rule = [takes_divisions](const Graph& graph, const Node& root) -> Proposal {
    MatchedGroup group(graph, root);
    std::optional<InstanceNorm> found = match_instance_norm(graph, group, root);
    if (!found && takes_divisions) {
      group.keep_first(1);
      found = match_divided(graph, group, root);
    }
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

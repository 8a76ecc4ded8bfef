// SPDX-License-Identifier: MIT
// Chains of operators that only view a tensor differently: Reshape, Unsqueeze, and a reduction whose dimensions come
// back.
#include <algorithm>

#include "ir/shape.h"
#include "ir/traversal.h"
#include "rewrite/simplify/operands.h"
#include "rewrite/simplify/patterns.h"

namespace quarkq::rewrite::simplify {
namespace {

/// Returns axes counted from the front, or nullopt if a required rank is unknown or an axis is out of range.
std::optional<std::vector<int64_t>> from_front(const std::vector<int64_t>& axes, std::optional<int64_t> rank) {
  if (!rank && std::any_of(axes.begin(), axes.end(), [](int64_t axis) { return axis < 0; })) return std::nullopt;
  Result<std::vector<int64_t>> places = ir::normalize_axes(axes, rank.value_or(ir::kMaxRank));
  return places.ok() ? std::optional(std::move(places).value()) : std::nullopt;
}

/// Returns whether the shape operand may contain a 0, which refers to a dimension of the input. Compat mode assumes
/// that computed dimensions are not 0.
bool may_hold_zero(const Sweep& sweep, ir::ValueId shape) {
  const auto holds_zero = [&](ir::ValueId id) {
    const auto numbers = sweep.scope.integers(id);
    return numbers && std::ranges::find(*numbers, 0) != numbers->end();
  };
  if (sweep.scope.constant(shape) != nullptr) return holds_zero(shape);
  if (!sweep.scope.options.merges_computed_shapes) return true;
  const ir::Node* concat = sweep.producer(shape, "Concat");
  return concat != nullptr && std::ranges::any_of(concat->inputs, holds_zero);
}

}  // namespace

/// Reshape -> Reshape: the second alone, unless a 0 in its shape refers to a dimension of the first.
std::optional<Rewrite> merge_reshapes(const Sweep& sweep, const ir::Node& second) {
  const ir::Node* first = sweep.sole_producer(second.input(0), "Reshape");
  if (first == nullptr || !second.input(1).valid() || may_hold_zero(sweep, second.input(1))) return std::nullopt;
  Rewrite rewrite;
  rewrite.patch.node({second.op,
                      second.domain,
                      sweep.scope.name(first->output(0)),
                      {first->input(0), second.input(1)},
                      {second.output(0)},
                      second.attributes});
  rewrite.patch.remove(first->id);
  rewrite.patch.remove(second.id);
  return rewrite;
}

/// Unsqueeze -> Unsqueeze: the first one's axes move up after what the second inserts.
std::optional<Rewrite> merge_unsqueezes(const Sweep& sweep, const ir::Node& second) {
  const ir::Node* first = sweep.sole_producer(second.input(0), "Unsqueeze");
  if (first == nullptr) return std::nullopt;
  auto inner = axes_of(sweep.scope, *first), outer = axes_of(sweep.scope, second);
  if (!inner || !outer) return std::nullopt;
  const auto rank = ir::rank_of(sweep.graph, first->input(0));
  const auto count = static_cast<int64_t>(inner->size());
  inner = from_front(*inner, rank ? std::optional(*rank + count) : std::nullopt);
  outer = from_front(*outer, rank ? std::optional(*rank + count + static_cast<int64_t>(outer->size())) : std::nullopt);
  if (!inner || !outer) return std::nullopt;
  std::vector<int64_t> ascending = *outer, axes = *inner;
  std::sort(ascending.begin(), ascending.end());
  for (int64_t& axis : axes) {
    for (const int64_t inserted : ascending) axis += inserted <= axis ? 1 : 0;
  }
  axes.insert(axes.end(), outer->begin(), outer->end());
  Rewrite rewrite;
  const std::string& name = sweep.scope.name(first->output(0));
  ir::GraphPatch::PatchNode merged{"Unsqueeze", "", name, {first->input(0)}, {second.output(0)}, {}};
  if (second.inputs.size() > 1) {
    const auto length = static_cast<int64_t>(axes.size());
    merged.inputs.push_back(rewrite.patch.initializer(name + "_axes", ir::Tensor::from<int64_t>({length}, axes)));
  } else {
    merged.attributes.push_back({"axes", std::move(axes), {}, {}});
  }
  rewrite.patch.remove(first->id);
  rewrite.patch.remove(second.id);
  rewrite.patch.node(std::move(merged));
  return rewrite;
}

/// ReduceSum that drops dimensions -> Unsqueeze that brings them back: ReduceSum that keeps them.
std::optional<Rewrite> keep_reduced_dims(const Sweep& sweep, const ir::Node& unsqueeze) {
  const ir::Node* reduce = sweep.sole_producer(unsqueeze.input(0), "ReduceSum");
  if (reduce == nullptr || reduce->int_or("keepdims", 1) != 0) return std::nullopt;
  auto dropped = axes_of(sweep.scope, *reduce), inserted = axes_of(sweep.scope, unsqueeze);
  if (!dropped || !inserted || dropped->empty()) return std::nullopt;
  const auto rank = ir::rank_of(sweep.graph, reduce->input(0));
  dropped = from_front(*dropped, rank);
  inserted = from_front(*inserted, rank);
  if (!dropped || !inserted) return std::nullopt;
  std::sort(dropped->begin(), dropped->end());
  std::sort(inserted->begin(), inserted->end());
  if (*dropped != *inserted) return std::nullopt;
  Rewrite rewrite;
  ir::GraphPatch::PatchNode kept{reduce->op, reduce->domain,        sweep.scope.name(reduce->output(0)),
                                 {},         {unsqueeze.output(0)}, reduce->attributes};
  for (const ir::ValueId input : reduce->inputs) kept.inputs.emplace_back(input);
  for (ir::Attribute& attribute : kept.attributes) {
    if (attribute.name == "keepdims") attribute.value = int64_t{1};
  }
  rewrite.patch.remove(reduce->id);
  rewrite.patch.remove(unsqueeze.id);
  rewrite.patch.node(std::move(kept));
  return rewrite;
}

/// A Reshape by a Concat of one-element constants (none of them -1) and one computed element: the constant shape with
/// -1 there.
std::optional<Rewrite> fix_concat_shape(const Sweep& sweep, const ir::Node& reshape) {
  const ir::Node* concat = sweep.producer(reshape.input(1), "Concat");
  if (concat == nullptr) return std::nullopt;
  std::vector<int64_t> shape;
  size_t computed = 0;
  for (const ir::ValueId input : concat->inputs) {
    if (const ir::Tensor* constant = sweep.scope.constant(input)) {
      const auto value = sweep.scope.integers(input);
      if (!value || constant->rank() != 1 || value->size() != 1 || value->front() == -1) return std::nullopt;
      shape.push_back(value->front());
    } else {
      if (!input.valid() || sweep.scope.static_shape(input) != ir::Shape{1} || ++computed > 1) return std::nullopt;
      shape.push_back(-1);
    }
  }
  if (computed != 1) return std::nullopt;
  Rewrite rewrite;
  const std::string& name = sweep.scope.name(reshape.output(0));
  const auto length = static_cast<int64_t>(shape.size());
  const ir::PatchValue constant =
      rewrite.patch.initializer(name + "_shape", ir::Tensor::from<int64_t>({length}, shape));
  rewrite.patch.remove(reshape.id);
  rewrite.patch.node(
      {reshape.op, reshape.domain, name, {reshape.input(0), constant}, {reshape.output(0)}, reshape.attributes});
  return rewrite;
}

}  // namespace quarkq::rewrite::simplify

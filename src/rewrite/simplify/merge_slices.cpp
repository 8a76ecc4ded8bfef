// SPDX-License-Identifier: MIT
// Consecutive Slices along different axes become one.
#include <algorithm>

#include "ir/axes.h"
#include "rewrite/simplify/operands.h"
#include "rewrite/simplify/patterns.h"

namespace quarkq::rewrite::simplify {
namespace {

/// What a Slice with all five inputs does, its axes counted from the front.
std::optional<SliceLists> lists_of(const Scope& scope, const ir::Node& slice) {
  if (!slice.is("Slice") || slice.inputs.size() != 5) return std::nullopt;
  std::optional<SliceLists> lists = slice_lists(scope, slice);
  if (!lists) return std::nullopt;
  const ir::ValueType& type = scope.graph.value(slice.input(0)).type;
  for (int64_t& axis : lists->axes) {
    if (axis < 0 && !type.has_shape) return std::nullopt;
    const int64_t rank = type.has_shape ? static_cast<int64_t>(type.dims.size()) : ir::kMaxRank;
    const Result<int64_t> place = ir::normalize_axis(axis, rank);
    if (!place.ok()) return std::nullopt;
    axis = place.value();
  }
  return lists;
}

bool are_disjoint(const std::vector<int64_t>& a, const std::vector<int64_t>& b) {
  return std::none_of(a.begin(), a.end(), [&](int64_t axis) { return std::find(b.begin(), b.end(), axis) != b.end(); });
}

std::vector<int64_t> joined(std::vector<int64_t> a, const std::vector<int64_t>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

/// Adds the Slice that does what `first` and then `second` did.
void put_merged(const Sweep& sweep, const ir::Node& first, const ir::Node& second, const std::string& name,
                Rewrite& rewrite) {
  const SliceLists a = *lists_of(sweep.scope, first), b = *lists_of(sweep.scope, second);
  ir::GraphPatch::PatchNode merged{"Slice", "", name, {first.input(0)}, {second.output(0)}, {}};
  auto add = [&](const char* what, const std::vector<int64_t>& list) {
    const auto length = static_cast<int64_t>(list.size());
    merged.inputs.push_back(rewrite.patch.initializer(cat(name, "_", what), ir::Tensor::from<int64_t>({length}, list)));
  };
  add("starts", joined(a.starts, b.starts));
  add("ends", joined(a.ends, b.ends));
  add("axes", joined(a.axes, b.axes));
  add("steps", joined(a.steps, b.steps));
  rewrite.patch.remove(second.id);
  rewrite.patch.node(std::move(merged));
}

}  // namespace

std::optional<Rewrite> merge_slices(const Sweep& sweep, const ir::Node& anchor) {
  const ir::Node* first = sweep.producer(anchor.input(0), "Slice");
  if (first == nullptr || sweep.graph.value(anchor.input(0)).is_output) return std::nullopt;
  const auto inner = lists_of(sweep.scope, *first);
  if (!inner) return std::nullopt;
  const std::vector<ir::Use> uses = sweep.graph.value(anchor.input(0)).uses;
  for (const ir::Use& use : uses) {
    if (use.is_capture || use.input != 0 || sweep.is_new(use.node)) return std::nullopt;
    const auto outer = lists_of(sweep.scope, sweep.graph.node(use.node));
    if (!outer || !are_disjoint(inner->axes, outer->axes)) return std::nullopt;
  }
  Rewrite rewrite;
  rewrite.patch.remove(first->id);
  for (const ir::Use& use : uses) {
    const ir::Node& second = sweep.graph.node(use.node);
    const ir::ValueId named_after = uses.size() == 1 ? first->output(0) : second.output(0);
    put_merged(sweep, *first, second, sweep.scope.name(named_after), rewrite);
  }
  return rewrite;
}

}  // namespace quarkq::rewrite::simplify

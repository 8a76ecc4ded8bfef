// SPDX-License-Identifier: MIT
// Consecutive Slices along different axes become one.
#include <algorithm>

#include "ir/shape.h"
#include "rewrite/simplify/operands.h"
#include "rewrite/simplify/patterns.h"

namespace quarkq::rewrite::simplify {

namespace {

/// Returns the lists of a Slice with all five inputs, with axes counted from the front.
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

// Concat of Concats along one axis, and the Concat that puts a whole Shape together again.

namespace {

/// The Concat along the same axis that makes `input` when all its readers are such Concats.
const ir::Node* inner_concat(const Sweep& sweep, const ir::Node& outer, ir::ValueId input) {
  const ir::Node* inner = sweep.producer(input, "Concat");
  if (inner == nullptr || sweep.graph.value(input).is_output) return nullptr;
  const auto* axis = outer.get<int64_t>("axis");
  const auto joins_along = [&](const ir::Node& node) {
    const auto* own = node.get<int64_t>("axis");
    return own != nullptr && *own == *axis;
  };
  if (axis == nullptr || !joins_along(*inner)) return nullptr;
  const std::vector<ir::Use>& uses = sweep.graph.value(input).uses;
  const bool all_concats = std::all_of(uses.begin(), uses.end(), [&](const ir::Use& use) {
    const ir::Node& reader = sweep.graph.node(use.node);
    return !use.is_capture && reader.is("Concat") && joins_along(reader);
  });
  return all_concats ? inner : nullptr;
}

/// The position that a node picks out of `shape`: Unsqueeze(Gather(shape, position)) with one position.
std::optional<int64_t> picked_place(const Sweep& sweep, ir::ValueId element, ir::ValueId* shape) {
  const ir::Node* unsqueeze = sweep.producer(element, "Unsqueeze");
  const ir::Node* gather = unsqueeze == nullptr ? nullptr : sweep.producer(unsqueeze->input(0), "Gather");
  if (gather == nullptr || gather->int_or("axis", 0) != 0) return std::nullopt;
  const auto place = sweep.scope.integers(gather->input(1));
  if (!place || place->size() != 1 || sweep.scope.constant(gather->input(1))->rank() != 0) return std::nullopt;
  *shape = gather->input(0);
  return place->front();
}

}  // namespace

/// Upper bound on the inputs of a Concat that takes in others which are read elsewhere, too. Their inputs are then
/// repeated, and a chain in which each joins all before it would double them with every node. Networks have a few
/// dozen.
constexpr size_t kMostRepeated = 256;

std::optional<Rewrite> merge_concats(const Sweep& sweep, const ir::Node& outer) {
  Rewrite rewrite;
  ir::GraphPatch::PatchNode merged{outer.op, outer.domain,      sweep.scope.name(outer.output(0)),
                                   {},       {outer.output(0)}, outer.attributes};
  rewrite.patch.remove(outer.id);
  bool found = false;
  for (size_t place = 0; place < outer.inputs.size(); ++place) {
    const ir::ValueId input = outer.inputs[place];
    const ir::Node* inner = inner_concat(sweep, outer, input);
    if (inner == nullptr) {
      merged.inputs.emplace_back(input);
      continue;
    }
    const size_t left = outer.inputs.size() - place;  // this input and the following ones
    if (!sweep.graph.sole_use(input) && merged.inputs.size() + inner->inputs.size() + left > kMostRepeated) {
      merged.inputs.emplace_back(input);
      continue;
    }
    for (const ir::ValueId part : inner->inputs) merged.inputs.emplace_back(part);
    if (sweep.graph.sole_use(input)) rewrite.patch.remove(inner->id);
    found = true;
  }
  if (!found) return std::nullopt;
  rewrite.patch.node(std::move(merged));
  return rewrite;
}

std::optional<Rewrite> gather_all_dims(const Sweep& sweep, const ir::Node& concat) {
  ir::ValueId shape;
  for (size_t i = 0; i < concat.inputs.size(); ++i) {
    ir::ValueId source;
    if (picked_place(sweep, concat.inputs[i], &source) != static_cast<int64_t>(i)) return std::nullopt;
    if (i > 0 && source != shape) return std::nullopt;
    shape = source;
  }
  const ir::Node* maker = concat.inputs.empty() ? nullptr : sweep.producer(shape, "Shape");
  if (maker == nullptr || maker->find("start") != nullptr || maker->find("end") != nullptr) return std::nullopt;
  const ir::ValueType& type = sweep.graph.value(maker->input(0)).type;
  if (!type.has_shape || type.dims.size() != concat.inputs.size() || sweep.graph.value(concat.output(0)).is_output)
    return std::nullopt;
  Rewrite rewrite;
  rewrite.patch.remove(concat.id);
  rewrite.patch.replace(concat.output(0), shape);
  return rewrite;
}

}  // namespace quarkq::rewrite::simplify

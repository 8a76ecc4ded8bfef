// SPDX-License-Identifier: MIT
// Transposes that undo or follow one another, or that move nothing but dimensions of size 1.
#include <algorithm>

#include "rewrite/simplify/operands.h"
#include "rewrite/simplify/patterns.h"

namespace quarkq::rewrite::simplify {

namespace {

/// The axes of size other than 1 keep their order.
bool moves_only_ones(const Perm& perm, const std::vector<ir::Dim>& dims) {
  int64_t last = -1;
  for (const int64_t axis : perm) {
    if (dims[static_cast<size_t>(axis)].size == 1) continue;
    if (axis < last) return false;
    last = axis;
  }
  return true;
}

bool stands_at_reshape(const Sweep& sweep, const ir::Node& transpose) {
  if (sweep.producer(transpose.input(0), "Reshape") != nullptr) return true;
  const std::vector<ir::Use>& uses = sweep.graph.value(transpose.output(0)).uses;
  return std::any_of(uses.begin(), uses.end(), [&](const ir::Use& use) {
    return !use.is_capture && sweep.graph.node(use.node).is("Reshape") && !sweep.is_new(use.node);
  });
}

}  // namespace

std::optional<Rewrite> merge_transposes(const Sweep& sweep, const ir::Node& second) {
  const ir::Node* first = sweep.sole_producer(second.input(0), "Transpose");
  if (first == nullptr) return std::nullopt;
  const auto inner = perm_of(sweep.scope, *first), outer = perm_of(sweep.scope, second);
  if (!inner || !outer || !is_permutation_of_axes(*inner, outer->size()) ||
      !is_permutation_of_axes(*outer, inner->size()))
    return std::nullopt;
  Perm perm;
  for (const int64_t axis : *outer) perm.push_back((*inner)[static_cast<size_t>(axis)]);
  Rewrite rewrite;
  const bool nothing = is_identity(perm);
  ir::GraphPatch::PatchNode merged{nothing ? "Identity" : "Transpose",
                                   "",
                                   sweep.scope.name(first->output(0)),
                                   {first->input(0)},
                                   {second.output(0)},
                                   {}};
  if (!nothing) merged.attributes.push_back({"perm", std::move(perm), {}, {}});
  rewrite.patch.remove(first->id);
  rewrite.patch.remove(second.id);
  rewrite.patch.node(std::move(merged));
  return rewrite;
}

std::optional<Rewrite> transpose_as_reshape(const Sweep& sweep, const ir::Node& transpose) {
  const ir::ValueType& type = sweep.graph.value(transpose.input(0)).type;
  const auto perm = perm_of(sweep.scope, transpose);
  if (!type.has_shape || !perm || !is_permutation_of_axes(*perm, type.dims.size())) return std::nullopt;
  if (!moves_only_ones(*perm, type.dims) || !stands_at_reshape(sweep, transpose)) return std::nullopt;
  std::vector<int64_t> shape;
  for (const int64_t axis : *perm) shape.push_back(type.dims[static_cast<size_t>(axis)].size);
  if (std::count(shape.begin(), shape.end(), -1) > 1 || std::count(shape.begin(), shape.end(), 0) > 0)
    return std::nullopt;
  Rewrite rewrite;
  const std::string& name = sweep.scope.name(transpose.output(0));
  const auto length = static_cast<int64_t>(shape.size());
  const ir::PatchValue constant =
      rewrite.patch.initializer(name + "_shape", ir::Tensor::from<int64_t>({length}, shape));
  rewrite.patch.remove(transpose.id);
  rewrite.patch.node({"Reshape", "", name, {transpose.input(0), constant}, {transpose.output(0)}, {}});
  return rewrite;
}

// Transpose -> Reshape, Squeeze or Unsqueeze -> Transpose: the first two change places, so that the Transposes meet.

namespace {

/// Replaces view(transpose(x)) by transpose(view(x)) with these operands.
struct Swapped {
  Perm perm;
  std::optional<std::vector<int64_t>> operand;  ///< shape or axes of the view; absent: unchanged
};

/// Dimensions of size 1 may sit elsewhere, the others come in the same order. The view restores the input's shape.
std::optional<Swapped> move_ones(const ir::Shape& input, const Perm& perm, const std::vector<int64_t>& shape) {
  std::vector<int64_t> ones, others;
  for (const int64_t axis : perm) (input[static_cast<size_t>(axis)] == 1 ? ones : others).push_back(axis);
  Swapped swapped{{}, input};
  auto one = ones.begin(), other = others.begin();
  for (const int64_t size : shape) {
    auto& next = size == 1 ? one : other;
    if (next == (size == 1 ? ones.end() : others.end()) || input[static_cast<size_t>(*next)] != size)
      return std::nullopt;
    swapped.perm.push_back(*next++);
  }
  return swapped;
}

/// Each transposed dimension is the product of a run of requested ones; the runs go to where the input has them.
std::optional<Swapped> split_runs(const ir::Shape& input, const Perm& perm, const std::vector<int64_t>& shape) {
  std::vector<std::vector<int64_t>> runs(input.size());  // indexed by axis of the input
  size_t next = 0;
  for (size_t i = 0; i < perm.size(); ++i) {
    const auto axis = static_cast<size_t>(perm[i]);
    const bool is_last = i + 1 == perm.size();
    int64_t product = 1;
    while (next < shape.size() && (is_last || runs[axis].empty() || product != input[axis])) {
      if (shape[next] > input[axis] / product) return std::nullopt;
      product *= shape[next];
      runs[axis].push_back(shape[next++]);
    }
    if (product != input[axis] || runs[axis].empty()) return std::nullopt;
  }
  std::vector<int64_t> first(input.size(), 0), dims;
  for (size_t axis = 0; axis < input.size(); ++axis) {
    first[axis] = static_cast<int64_t>(dims.size());
    dims.insert(dims.end(), runs[axis].begin(), runs[axis].end());
  }
  Swapped swapped{{}, dims};
  for (const int64_t axis : perm) {
    const auto at = static_cast<size_t>(axis);
    for (size_t k = 0; k < runs[at].size(); ++k) swapped.perm.push_back(first[at] + static_cast<int64_t>(k));
  }
  return swapped;
}

std::optional<Swapped> swap_reshape(const Scope& scope, const ir::Node& view, const ir::Shape& input,
                                    const Perm& perm) {
  const auto shape = scope.integers(view.input(1));
  if (!shape || std::any_of(shape->begin(), shape->end(), [](int64_t size) { return size <= 0; })) return std::nullopt;
  if (shape->size() == input.size()) return move_ones(input, perm, *shape);
  return shape->size() > input.size() ? split_runs(input, perm, *shape) : std::nullopt;
}

std::optional<Swapped> swap_squeeze(const Scope& scope, const ir::Node& view, const ir::Shape& input,
                                    const Perm& perm) {
  const auto axes = scope.integers(view.input(1));
  if (!axes) return std::nullopt;
  Swapped swapped{{}, std::vector<int64_t>()};
  for (const int64_t axis : *axes) {
    const Result<int64_t> place = ir::normalize_axis(axis, static_cast<int64_t>(input.size()));
    if (!place.ok()) return std::nullopt;
    swapped.operand->push_back(perm[static_cast<size_t>(place.value())]);
  }
  const std::vector<int64_t>& gone = *swapped.operand;
  for (const int64_t axis : perm) {
    if (std::find(gone.begin(), gone.end(), axis) != gone.end()) continue;
    swapped.perm.push_back(axis - std::count_if(gone.begin(), gone.end(), [&](int64_t other) { return other < axis; }));
  }
  return swapped;
}

std::optional<Swapped> swap_unsqueeze(const Scope& scope, const ir::Node& view, const ir::Shape& input,
                                      const Perm& perm) {
  const auto axes = scope.integers(view.input(1));
  if (!axes) return std::nullopt;
  const size_t rank = input.size() + axes->size();
  std::vector<bool> is_new(rank, false);
  for (const int64_t axis : *axes) {
    const Result<int64_t> place = ir::normalize_axis(axis, static_cast<int64_t>(rank));
    if (!place.ok()) return std::nullopt;
    is_new[static_cast<size_t>(place.value())] = true;
  }
  std::vector<int64_t> old_places;
  for (size_t i = 0; i < rank; ++i) {
    if (!is_new[i]) old_places.push_back(static_cast<int64_t>(i));
  }
  if (old_places.size() != input.size()) return std::nullopt;
  Swapped swapped;
  for (size_t i = 0, old = 0; i < rank; ++i) {
    swapped.perm.push_back(is_new[i] ? static_cast<int64_t>(i) : old_places[static_cast<size_t>(perm[old++])]);
  }
  return swapped;
}

std::optional<Swapped> swap(const Scope& scope, const ir::Node& view, const ir::Shape& input, const Perm& perm) {
  if (view.op == "Reshape") return swap_reshape(scope, view, input, perm);
  return view.op == "Squeeze" ? swap_squeeze(scope, view, input, perm) : swap_unsqueeze(scope, view, input, perm);
}

const ir::Node* view_that_makes(const Sweep& sweep, ir::ValueId value) {
  constexpr int64_t kAxesAsInput = 13;
  const ir::Node* view = sweep.sole_producer(value, "Reshape");
  if (view != nullptr || sweep.scope.opset() < kAxesAsInput) return view;
  view = sweep.sole_producer(value, "Squeeze");
  return view != nullptr ? view : sweep.sole_producer(value, "Unsqueeze");
}

}  // namespace

std::optional<Rewrite> swap_transpose_and_view(const Sweep& sweep, const ir::Node& anchor) {
  const ir::Node* view = view_that_makes(sweep, anchor.input(0));
  const ir::Node* first = view == nullptr ? nullptr : sweep.sole_producer(view->input(0), "Transpose");
  if (first == nullptr) return std::nullopt;
  const auto input = sweep.scope.static_shape(first->input(0));
  const auto perm = perm_of(sweep.scope, *first);
  if (!input || !perm || !is_permutation_of_axes(*perm, input->size())) return std::nullopt;
  std::optional<Swapped> swapped = swap(sweep.scope, *view, *input, *perm);
  if (!swapped) return std::nullopt;
  Rewrite rewrite;
  rewrite.in_place = true;
  ir::GraphPatch& patch = rewrite.patch;
  ir::PatchValue operand = view->input(1);
  if (swapped->operand) {
    const std::string name = sweep.scope.name(view->output(0)) + (view->op == "Reshape" ? "_shape" : "_axes");
    const auto length = static_cast<int64_t>(swapped->operand->size());
    operand = patch.initializer(name, ir::Tensor::from<int64_t>({length}, *swapped->operand));
  }
  // A new value under the old name: the value between the two nodes has another shape now.
  const ir::ValueType type{sweep.graph.value(first->output(0)).type.element, /*has_shape=*/false, {}, {}};
  const ir::PatchValue between = patch.value(sweep.scope.name(first->output(0)), type);
  patch.remove(first->id);
  patch.remove(view->id);
  patch.node({view->op, view->domain, view->name, {first->input(0), operand}, {between}, view->attributes});
  patch.node(
      {"Transpose", "", first->name, {between}, {view->output(0)}, {{"perm", std::move(swapped->perm), {}, {}}}});
  return rewrite;
}

}  // namespace quarkq::rewrite::simplify

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

}  // namespace quarkq::rewrite::simplify

// SPDX-License-Identifier: MIT
#include "rewrite/simplify/operands.h"

#include <algorithm>

#include "ir/shape.h"

namespace quarkq::rewrite::simplify {
namespace {

using Ints = std::vector<int64_t>;

std::optional<Ints> list_of(const Scope& scope, const ir::Node& node, const char* attribute, size_t input) {
  if (const auto* list = node.get<Ints>(attribute)) return *list;
  return node.input(input).valid() ? scope.integers(node.input(input)) : std::nullopt;
}

bool is_written(const ir::Node& node, const char* attribute, size_t input) {
  return node.find(attribute) != nullptr || node.input(input).valid();
}

std::pair<int64_t, int64_t> clamped(int64_t start, int64_t end, int64_t count) {
  auto clamp = [&](int64_t place) { return std::clamp<int64_t>(place < 0 ? place + count : place, 0, count); };
  return {clamp(start), std::max(clamp(start), clamp(end))};
}

}  // namespace

std::optional<Ints> axes_of(const Scope& scope, const ir::Node& node) { return list_of(scope, node, "axes", 1); }

std::optional<SliceLists> slice_lists(const Scope& scope, const ir::Node& slice) {
  const auto starts = list_of(scope, slice, "starts", 1), ends = list_of(scope, slice, "ends", 2);
  if (!starts || !ends || starts->size() != ends->size()) return std::nullopt;
  SliceLists lists{*starts, *ends, {}, Ints(starts->size(), 1)};
  for (size_t i = 0; i < starts->size(); ++i) lists.axes.push_back(static_cast<int64_t>(i));
  if (is_written(slice, "axes", 3)) lists.axes = list_of(scope, slice, "axes", 3).value_or(Ints());
  if (slice.input(4).valid()) lists.steps = scope.integers(slice.input(4)).value_or(Ints());
  const bool complete = lists.axes.size() == starts->size() && lists.steps.size() == starts->size();
  return complete ? std::optional(std::move(lists)) : std::nullopt;
}

std::optional<std::pair<int64_t, int64_t>> kept_range(const Scope& scope, const ir::Node& slice, int64_t count) {
  const auto lists = slice_lists(scope, slice);
  if (!lists || lists->starts.size() != 1 || lists->steps[0] != 1) return std::nullopt;
  return clamped(lists->starts[0], lists->ends[0], count);
}

std::pair<int64_t, int64_t> kept_dims(const ir::Node& shape, int64_t rank) {
  return clamped(shape.int_or("start", 0), shape.int_or("end", rank), rank);
}

std::optional<Perm> perm_of(const Scope& scope, const ir::Node& transpose) {
  if (const auto* perm = transpose.get<Perm>("perm")) return *perm;
  const ir::ValueType& type = scope.graph.value(transpose.input(0)).type;
  if (!type.has_shape) return std::nullopt;
  Perm reversed;
  for (size_t i = type.dims.size(); i > 0; --i) reversed.push_back(static_cast<int64_t>(i - 1));
  return reversed;
}

bool is_identity(const Perm& perm) {
  for (size_t i = 0; i < perm.size(); ++i) {
    if (perm[i] != static_cast<int64_t>(i)) return false;
  }
  return true;
}

bool is_permutation_of_axes(const Perm& perm, size_t rank) {
  return ir::check_permutation(perm, static_cast<int64_t>(rank)).ok();
}

}  // namespace quarkq::rewrite::simplify

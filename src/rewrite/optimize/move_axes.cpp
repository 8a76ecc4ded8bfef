// SPDX-License-Identifier: MIT
// Operators that name dimensions by number: the numbers change when a Transpose moves through them.
#include <algorithm>

#include "base/index.h"
#include "ir/shape.h"
#include "rewrite/optimize/move_rules.h"

namespace quarkq::rewrite::basic {

namespace {

std::optional<std::vector<int64_t>> numbers_of(const ir::Tensor* tensor) {
  if (tensor == nullptr) return std::nullopt;
  Result<std::vector<int64_t>> numbers = ir::to_int64(*tensor);
  if (!numbers.ok()) return std::nullopt;
  return std::move(numbers).value();
}

std::vector<int64_t> mapped(const std::vector<int64_t>& axes, const Permutation& forth) {
  std::vector<int64_t> result;
  for (const int64_t axis : axes) result.push_back(forth[as_index(axis)]);
  return result;
}

std::vector<int64_t> sorted(std::vector<int64_t> list) {
  std::sort(list.begin(), list.end());
  return list;
}

/// A list that older opsets have as an attribute and newer ones as an input.
struct NodeList {
  const char* attribute;
  size_t input;
};

struct Found {
  bool readable = true;  ///< False: an input that is not constant.
  std::optional<std::vector<int64_t>> list;
};

Found find_list(const Move& move, const NodeList& where) {
  const ir::ValueId input = move.reader().input(where.input);
  if (input.valid()) {
    std::optional<std::vector<int64_t>> numbers = numbers_of(move.work.constant(input));
    const bool readable = numbers.has_value();
    return {readable, std::move(numbers)};
  }
  const auto* attribute = move.reader().get<std::vector<int64_t>>(where.attribute);
  return {true, attribute == nullptr ? std::nullopt : std::optional(*attribute)};
}

void set_list(const Move& move, const NodeList& where, const std::vector<int64_t>& list) {
  if (move.reader().find(where.attribute) != nullptr) {
    move.work.set_attribute(move.node, where.attribute, list);
    return;
  }
  const ir::ValueId constant = move.work.add_shape_constant(list);
  while (move.reader().inputs.size() <= where.input) move.work.append_input(move.node, {});
  move.work.set_input(move.node, where.input, constant);
}

/// Attribute `axis` counted from the front, or -1.
int64_t axis_of(const Move& move, int64_t fallback) {
  const Result<int64_t> axis = ir::normalize_axis(move.reader().int_or("axis", fallback), move.rank());
  return axis.ok() ? axis.value() : -1;
}

/// The list of a value per dimension is given to the dimensions as they are before the Transpose.
std::vector<int64_t> scattered(const std::vector<int64_t>& list, size_t first, const Permutation& forth) {
  std::vector<int64_t> result(forth.size());
  for (size_t i = 0; i < forth.size(); ++i) result[as_index(forth[i])] = list[first + i];
  return result;
}

}  // namespace

bool push_axis(const Move& move) {
  const int64_t axis = axis_of(move, 0);
  if (axis < 0) return false;
  const MoveRule* rule = move_rule(move.reader());
  for (const size_t i : movable_inputs(*rule, move.reader())) transpose_input(move, i);
  move.work.set_attribute(move.node, "axis", move.forth[as_index(axis)]);
  transpose_outputs(move, move.forth);
  return true;
}

bool push_softmax(const Move& move) {
  constexpr int64_t kOneAxis = 13;  // before: over all dimensions from `axis` on
  const int64_t axis = axis_of(move, move.work.opset() >= kOneAxis ? -1 : 1);
  if (axis < 0) return false;
  if (move.work.opset() >= kOneAxis) {
    transpose_input(move, 0);
    move.work.set_attribute(move.node, "axis", move.forth[as_index(axis)]);
    transpose_outputs(move, move.forth);
    return true;
  }
  for (int64_t i = 0; i < axis; ++i) {
    if (move.forth[as_index(i)] >= axis) return false;
  }
  return push_first(move);
}

bool push_arg(const Move& move) {
  const int64_t axis = axis_of(move, 0);
  if (axis < 0) return false;
  const bool keeps = move.reader().int_or("keepdims", 1) != 0;
  transpose_input(move, 0);
  move.work.set_attribute(move.node, "axis", move.forth[as_index(axis)]);
  transpose_outputs(move, keeps ? move.forth : without_axes(move.forth, {axis}));
  return true;
}

bool push_reduce(const Move& move) {
  constexpr NodeList kAxes{"axes", 1};
  const Found found = find_list(move, kAxes);
  if (!found.readable) return false;
  const bool keeps = move.reader().int_or("keepdims", 1) != 0;
  if (!found.list || found.list->empty()) {
    if (move.reader().int_or("noop_with_empty_axes", 0) != 0) return push_first(move);
    transpose_input(move, 0);
    if (keeps) transpose_outputs(move, move.forth);
    return true;
  }
  const auto axes = ir::normalize_axes(*found.list, move.rank());
  if (!axes.ok()) return false;
  set_list(move, kAxes, sorted(mapped(axes.value(), move.forth)));
  transpose_input(move, 0);
  transpose_outputs(move, keeps ? move.forth : without_axes(move.forth, axes.value()));
  return true;
}

bool push_squeeze(const Move& move) {
  constexpr NodeList kAxes{"axes", 1};
  const Found found = find_list(move, kAxes);
  if (!found.readable || !found.list) return false;
  const auto axes = ir::normalize_axes(*found.list, move.rank());
  if (!axes.ok()) return false;
  set_list(move, kAxes, sorted(mapped(axes.value(), move.forth)));
  transpose_input(move, 0);
  transpose_outputs(move, without_axes(move.forth, axes.value()));
  return true;
}

bool push_unsqueeze(const Move& move) {
  const Found found = find_list(move, {"axes", 1});
  if (!found.readable || !found.list) return false;
  const auto axes = ir::normalize_axes(*found.list, move.rank() + static_cast<int64_t>(found.list->size()));
  if (!axes.ok()) return false;
  transpose_input(move, 0);
  transpose_outputs(move, with_axes(move.forth, axes.value()));
  return true;
}

bool push_slice(const Move& move) {
  constexpr NodeList kAxes{"axes", 3}, kStarts{"starts", 1};
  Found found = find_list(move, kAxes);
  if (!found.readable) return false;
  if (!found.list) {
    const Found starts = find_list(move, kStarts);
    if (!starts.readable || !starts.list) return false;
    found.list.emplace();
    for (size_t i = 0; i < starts.list->size(); ++i) found.list->push_back(static_cast<int64_t>(i));
  }
  const auto axes = ir::normalize_axes(*found.list, move.rank());
  if (!axes.ok()) return false;
  if (move.reader().input(kStarts.input).valid()) {
    set_list(move, kAxes, mapped(axes.value(), move.forth));
  } else {
    move.work.set_attribute(move.node, "axes", mapped(axes.value(), move.forth));
  }
  return push_first(move);
}

bool push_pad(const Move& move) {
  constexpr NodeList kPads{"pads", 1};
  const Found found = find_list(move, kPads);
  const size_t rank = move.forth.size();
  if (!found.readable || !found.list || found.list->size() != 2 * rank || move.reader().input(3).valid()) return false;
  std::vector<int64_t> pads = scattered(*found.list, 0, move.forth);
  const std::vector<int64_t> ends = scattered(*found.list, rank, move.forth);
  pads.insert(pads.end(), ends.begin(), ends.end());
  set_list(move, kPads, pads);
  return push_first(move);
}

bool push_tile(const Move& move) {
  constexpr NodeList kRepeats{"repeats", 1};
  const Found found = find_list(move, kRepeats);
  if (!found.readable || !found.list || found.list->size() != move.forth.size()) return false;
  set_list(move, kRepeats, scattered(*found.list, 0, move.forth));
  return push_first(move);
}

bool push_gather(const Move& move) {
  const int64_t axis = axis_of(move, 0);
  if (axis < 0 || !move.reader().input(1).valid()) return false;
  const ir::ValueType& indices = move.work.graph().value(move.reader().inputs[1]).type;
  if (!indices.has_shape || !indices.dims.empty()) return false;  // only where the dimension is removed
  const int64_t new_axis = move.forth[as_index(axis)];
  transpose_input(move, 0);
  move.work.set_attribute(move.node, "axis", new_axis);
  transpose_outputs(move, without_axes(move.forth, {axis}));
  return true;
}

bool push_shape(const Move& move) {
  const ir::Node& node = move.reader();
  const auto clamp = [&](int64_t place) {
    return std::clamp<int64_t>(place < 0 ? place + move.rank() : place, 0, move.rank());
  };
  const int64_t start = clamp(node.int_or("start", 0)), end = clamp(node.int_or("end", move.rank()));
  if (start >= end) return false;
  transpose_input(move, 0);
  if (node.find("start") != nullptr) move.work.set_attribute(move.node, "start", int64_t{0});
  if (node.find("end") != nullptr) move.work.set_attribute(move.node, "end", move.rank());
  const ir::ValueId dims = move.work.add_shape_constant({move.forth.begin() + start, move.forth.begin() + end});
  const ir::ValueType inner{ElementType::kInt64, true, {{move.rank(), {}}}, {}};
  const ir::NodeId gather = move.work.add_after(move.node, 0, "Gather", {{"axis", int64_t{0}, {}, {}}}, inner);
  move.work.append_input(gather, dims);
  return true;
}

// A Transpose moves through a Reshape that only splits dimensions: the parts of each stay together.

namespace {

using Shape = ir::Shape;

/// For each dimension the number of consecutive dimensions of `parts` that it is split into; nothing when it is not.
std::optional<std::vector<size_t>> split_runs(const Shape& dims, const Shape& parts) {
  std::vector<size_t> runs;
  size_t next = 0;
  for (const int64_t dim : dims) {
    const size_t first = next;
    int64_t product = 1;
    while (next < parts.size() && (next == first || product < dim)) product *= parts[next++];
    if (product != dim || next == first) return std::nullopt;
    runs.push_back(next - first);
  }
  if (next != parts.size()) return std::nullopt;
  return runs;
}

/// The permutation that makes `after` of `before` when only dimensions of 1 change places.
std::optional<Permutation> moved_ones(const Shape& before, const Shape& after) {
  if (before.size() != after.size()) return std::nullopt;
  Permutation permutation;
  size_t one = 0, other = 0;
  for (const int64_t dim : after) {
    size_t& next = dim == 1 ? one : other;
    while (next < before.size() && (before[next] == 1) != (dim == 1)) ++next;
    if (next == before.size() || before[next] != dim) return std::nullopt;
    permutation.push_back(static_cast<int64_t>(next++));
  }
  return permutation;
}

}  // namespace

bool push_reshape(const Move& move) {
  Workspace& work = move.work;
  const ir::Graph& graph = work.graph();
  if (work.constant(move.reader().input(1)) == nullptr) return false;
  const ir::ValueType& in = graph.value(move.reader().inputs[0]).type;
  const ir::ValueType& out = graph.value(move.reader().outputs[0]).type;
  if (!in.is_static() || !out.is_static() || in.dims.size() != move.forth.size()) return false;
  const Shape before = in.shape(), after = out.shape();
  const Result<int64_t> count = ir::element_count(before);
  if (!count.ok() || count.value() == 0 || !ir::element_count(after).ok()) return false;
  if (const std::optional<Permutation> own = moved_ones(before, after)) {
    return become_transpose(move, compose(move.forth, *own));
  }
  if (after.size() <= before.size()) return false;
  const std::optional<std::vector<size_t>> runs = split_runs(before, after);
  if (!runs) return false;
  std::vector<int64_t> first;  // First element of each run, in `after`.
  int64_t place = 0;
  for (const size_t run : *runs) {
    first.push_back(place);
    place += static_cast<int64_t>(run);
  }
  Permutation order;  // dimensions of `after` in the order of the dimensions before the Transpose
  for (const int64_t dim : move.back) {
    for (size_t i = 0; i < (*runs)[static_cast<size_t>(dim)]; ++i) {
      order.push_back(first[static_cast<size_t>(dim)] + static_cast<int64_t>(i));
    }
  }
  const ir::ValueId shape = work.add_shape_constant(permuted(after, order));
  transpose_input(move, 0);
  work.set_input(move.node, 1, shape);
  transpose_outputs(move, inverse(order));
  return true;
}

}  // namespace quarkq::rewrite::basic

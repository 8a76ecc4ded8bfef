// SPDX-License-Identifier: MIT
// A Transpose moves through a Reshape that only splits dimensions: the parts of each stay together.
#include "rewrite/optimize/move_rules.h"

namespace quarkq::rewrite::basic {
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
  std::vector<int64_t> first;  // of each run, in `after`
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

// SPDX-License-Identifier: MIT
// A Transpose of few axes exchanges blocks of neighbouring axes. After merging, no two neighbours belong together; a
// Transpose of r blocks can bring r - 1 pairs together, which bounds the number of steps from below, and one pair can
// always be brought together. So the search below ends, and finds the fewest steps.
#include "rewrite/hardware/axis_moves.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "base/index.h"

namespace quarkq::rewrite {
namespace {

using basic::Permutation;

/// The search is exhaustive; ranks beyond are not known from models.
constexpr size_t kMostAxes = 8;

Permutation counted(size_t length) {
  Permutation order(length);
  std::iota(order.begin(), order.end(), 0);
  return order;
}

int64_t product_of(const ir::Shape& dims) {
  return std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<>());
}

/// Neighbouring axes in blocks, and an order of the blocks.
struct BlockMove {
  std::vector<std::vector<int64_t>> blocks;
  Permutation order;

  Reordering step(const ir::Shape& dims) const {
    Reordering step{{}, order};
    for (const auto& block : blocks) {
      ir::Shape sizes;
      for (const int64_t axis : block) sizes.push_back(dims[as_index(axis)]);
      step.dims.push_back(product_of(sizes));
    }
    return step;
  }
  /// Returns the remaining reordering after this move.
  Reordering rest(const Reordering& whole) const {
    Permutation axes;
    for (const int64_t place : order) {
      const std::vector<int64_t>& block = blocks[as_index(place)];
      axes.insert(axes.end(), block.begin(), block.end());
    }
    const Permutation back = basic::inverse(axes);
    return merged_axes({basic::permuted(whole.dims, axes), basic::permuted(back, whole.permutation)});
  }
};

/// The axes cut into blocks after each axis whose bit is set.
std::vector<std::vector<int64_t>> blocks_of(size_t axes, uint32_t cuts) {
  std::vector<std::vector<int64_t>> blocks(1);
  for (size_t axis = 0; axis < axes; ++axis) {
    blocks.back().push_back(static_cast<int64_t>(axis));
    if ((cuts >> axis & 1U) != 0) blocks.emplace_back();
  }
  return blocks;
}

class StepSearch {
 public:
  explicit StepSearch(size_t most_rank) : most_rank_(most_rank) {}

  /// Appends at most `steps` Transposes that do `whole`, which is merged; false when there are none.
  bool find(const Reordering& whole, size_t steps) {
    const size_t axes = whole.dims.size();
    if (axes <= 1) return true;
    if (axes > 1 + (most_rank_ - 1) * steps) return false;
    if (axes <= most_rank_) {
      found.push_back(whole);
      return true;
    }
    for (uint32_t cuts = 1; cuts < 1U << (axes - 1); ++cuts) {
      const auto blocks = static_cast<size_t>(std::popcount(cuts)) + 1;
      if (blocks <= most_rank_ && find_with(whole, blocks_of(axes, cuts), steps)) return true;
    }
    return false;
  }

  std::vector<Reordering> found;

 private:
  bool find_with(const Reordering& whole, std::vector<std::vector<int64_t>> blocks, size_t steps) {
    BlockMove move{std::move(blocks), counted(0)};
    move.order = counted(move.blocks.size());
    while (std::next_permutation(move.order.begin(), move.order.end())) {
      const Reordering rest = move.rest(whole);
      if (rest.dims.size() >= whole.dims.size()) continue;
      found.push_back(move.step(whole.dims));
      if (find(rest, steps - 1)) return true;
      found.pop_back();
    }
    return false;
  }

  size_t most_rank_;
};

std::optional<std::vector<Reordering>> small_steps(const Reordering& merged, size_t most_rank) {
  if (merged.dims.size() > kMostAxes && merged.dims.size() > most_rank) return std::nullopt;
  for (size_t steps = 1; steps <= std::max<size_t>(1, merged.dims.size()); ++steps) {
    StepSearch search(most_rank);
    if (search.find(merged, steps)) return std::move(search.found);
  }
  return std::nullopt;
}

/// `merges`: also Transposes that are small enough as they are run on merged axes.
std::optional<std::vector<AxisMove>> plan(const AxisPath& path, size_t most_rank, bool merges) {
  std::vector<AxisMove> moves;
  ir::Shape current = path.from;
  const auto reshape_to = [&](const ir::Shape& dims) {
    if (current != dims) moves.push_back({{}, dims});
    current = dims;
  };
  for (const Reordering& whole : path.reorderings) {
    const Reordering merged = merged_axes(whole);
    if (basic::is_identity(merged.permutation)) continue;
    std::optional<std::vector<Reordering>> steps = std::vector{whole};
    if (merges || whole.dims.size() > most_rank) steps = small_steps(merged, most_rank);
    if (!steps) return std::nullopt;
    for (const Reordering& step : *steps) {
      reshape_to(step.dims);
      current = basic::permuted(step.dims, step.permutation);
      moves.push_back({step.permutation, current});
    }
  }
  reshape_to(path.to);
  return moves;
}

}  // namespace

Reordering merged_axes(const Reordering& reordering) {
  std::vector<std::pair<int64_t, int64_t>> groups;  // first axis and size, in the order of the output
  int64_t last = -1;
  const auto is_next = [&](int64_t axis) {
    for (int64_t between = last + 1; between < axis; ++between) {
      if (reordering.dims[as_index(between)] != 1) return false;
    }
    return axis > last;
  };
  for (const int64_t axis : reordering.permutation) {
    const int64_t size = reordering.dims[as_index(axis)];
    if (size == 1) continue;
    if (groups.empty() || !is_next(axis)) {
      groups.emplace_back(axis, size);
    } else {
      groups.back().second *= size;
    }
    last = axis;
  }
  auto sorted = groups;
  std::sort(sorted.begin(), sorted.end());
  Reordering merged;
  for (const auto& group : sorted) merged.dims.push_back(group.second);
  for (const auto& group : groups)
    merged.permutation.push_back(std::find(sorted.begin(), sorted.end(), group) - sorted.begin());
  return merged;
}

std::optional<std::vector<AxisMove>> plan_moves(const AxisPath& path, size_t most_rank) {
  const auto as_they_are = plan(path, most_rank, /*merges=*/false), merged = plan(path, most_rank, /*merges=*/true);
  return merged && (!as_they_are || merged->size() < as_they_are->size()) ? merged : as_they_are;
}

ir::PatchValue add_moves(ir::GraphPatch& patch, ir::PatchValue input, const std::vector<AxisMove>& moves,
                         const MovedValue& result) {
  for (size_t i = 0; i < moves.size(); ++i) {
    const AxisMove& move = moves[i];
    const bool is_last = i + 1 == moves.size(), is_output = is_last && result.output.valid();
    const std::string name = is_last ? result.name : cat(result.name, "_moved_", i);
    const ir::PatchValue made = is_output ? result.output : patch.value(name, static_type(result.element, move.dims));
    ir::GraphPatch::PatchNode node{"Transpose", "", is_output ? result.last_name : name, {input}, {made}, {}};
    if (move.permutation.empty()) {
      node.op = "Reshape";
      const auto rank = static_cast<int64_t>(move.dims.size());
      node.inputs.push_back(patch.initializer(name + "_shape", ir::Tensor::from<int64_t>({rank}, move.dims)));
    } else {
      node.attributes.push_back({"perm", move.permutation, {}, {}});
    }
    patch.node(std::move(node));
    input = made;
  }
  return input;
}

std::optional<ir::Tensor> moved(ir::Tensor tensor, const std::vector<AxisMove>& moves) {
  for (const AxisMove& move : moves) {
    std::optional<ir::Tensor> next =
        move.permutation.empty() ? tensor.reshaped(move.dims) : basic::permuted(tensor, move.permutation);
    if (!next) return std::nullopt;
    tensor = std::move(*next);
  }
  return tensor;
}

ir::ValueType static_type(ElementType element, const ir::Shape& dims) {
  ir::ValueType type{element, /*has_shape=*/true, {}, {}};
  for (const int64_t size : dims) type.dims.push_back({size, {}});
  return type;
}

bool is_view(const ir::Node& node) {
  return node.is("Reshape") || node.is("Flatten") || node.is("Squeeze") || node.is("Unsqueeze");
}

std::optional<ir::Shape> element_shape(const ir::Graph& graph, ir::ValueId id) {
  if (!id.valid()) return std::nullopt;
  const ir::ValueType& type = graph.value(id).type;
  if (!type.is_tensor() || !type.is_static()) return std::nullopt;
  const ir::Shape shape = type.shape();
  const Result<int64_t> count = ir::element_count(shape);
  if (!count.ok() || count.value() == 0) return std::nullopt;
  return shape;
}

std::optional<Reordering> reordering_of(const ir::Node& transpose, const ir::Shape& dims) {
  basic::Permutation reversed(dims.size());
  for (size_t i = 0; i < reversed.size(); ++i) reversed[i] = static_cast<int64_t>(reversed.size() - 1 - i);
  Reordering reordering{dims, transpose.ints_or("perm", reversed)};
  if (!ir::check_permutation(reordering.permutation, static_cast<int64_t>(dims.size())).ok()) return std::nullopt;
  return reordering;
}

ir::Shape float_shape(const ir::Graph& graph, ir::ValueId value) {
  if (!value.valid()) return {};
  const ir::ValueType& type = graph.value(value).type;
  return type.element == ElementType::kFloat && type.is_static() ? type.shape() : ir::Shape();
}

ir::Shape image_shape(const ir::Graph& graph, ir::ValueId value) {
  constexpr size_t kImageRank = 4;
  ir::Shape dims = float_shape(graph, value);
  const bool is_image = dims.size() == kImageRank && std::ranges::all_of(dims, [](int64_t size) { return size > 0; });
  return is_image ? dims : ir::Shape();
}

}  // namespace quarkq::rewrite

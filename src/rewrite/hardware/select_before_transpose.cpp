// SPDX-License-Identifier: MIT
// Queries, keys and values that attention takes from one tensor by an axis of their own (Reshape to rank 5, Transpose,
// Gather, or Split or Slices and Squeeze) are taken by Slices before the Reshape, so that every tensor has an axis
// fewer.
#include <algorithm>
#include <numeric>
#include <ranges>

#include "ir/constants.h"
#include "ir/shape.h"
#include "ir/traversal.h"
#include "rewrite/driver.h"
#include "rewrite/hardware/axis_moves.h"
#include "rewrite/passes.h"

namespace quarkq::rewrite {
namespace {

constexpr int64_t kSlicesByInputs = 10;  // the first opset where starts and ends are inputs

/// One element of an axis, which the result no longer has.
struct Selected {
  int64_t index;
  ir::ValueId output;
  std::vector<ir::NodeId> nodes;
};

struct Selection {
  int64_t axis = -1;  ///< Axis of the Transpose's output.
  std::vector<Selected> parts = {};
};

std::optional<int64_t> selected_axis(const ir::Graph& graph, const ir::Node& node, int64_t rank) {
  const auto listed = node.is("Slice") ? ir::integers_of(graph, node, 3, "") : std::nullopt;
  if (node.is("Slice") && (!listed || listed->size() != 1)) return std::nullopt;
  const Result<int64_t> axis = ir::normalize_axis(listed ? listed->front() : node.int_or("axis", 0), rank);
  return axis.ok() ? std::optional(axis.value()) : std::nullopt;
}

bool add_gather(const ir::Graph& graph, const ir::Node& gather, const ir::Shape& dims, Selection& selection) {
  const auto index = ir::integers_of(graph, gather, 1, "");
  const ir::Tensor* stored = graph.constant(gather.input(1));
  if (stored == nullptr || stored->rank() != 0 || !index || index->size() != 1) return false;
  const int64_t size = dims[static_cast<size_t>(selection.axis)];
  const int64_t at = (*index)[0] < 0 ? (*index)[0] + size : (*index)[0];
  if (at < 0 || at >= size) return false;
  selection.parts.push_back({at, gather.output(0), {gather.id}});
  return true;
}

/// A Split into single elements, of each of which only a Squeeze is left.
bool add_split(const ir::Graph& graph, const ir::Node& split, const ir::Shape& dims, Selection& selection) {
  if (static_cast<int64_t>(split.outputs.size()) != dims[static_cast<size_t>(selection.axis)]) return false;
  for (size_t i = 0; i < split.outputs.size(); ++i) {
    const std::optional<ir::Use> use = graph.sole_use(split.outputs[i]);
    const ir::Node* squeeze = use ? &graph.node(use->node) : nullptr;
    if (squeeze == nullptr || !squeeze->is("Squeeze")) return false;
    const auto axes = ir::integers_of(graph, *squeeze, 1, "axes");
    const auto rank = static_cast<int64_t>(dims.size());
    if (!axes || axes->size() != 1 || ((*axes)[0] + rank) % rank != selection.axis) return false;
    selection.parts.push_back({static_cast<int64_t>(i), squeeze->output(0), {squeeze->id}});
  }
  selection.parts.front().nodes.push_back(split.id);
  return true;
}

/// A Slice of a single element, of which only a Squeeze is left.
bool add_slice(const ir::Graph& graph, const ir::Node& slice, const ir::Shape& dims, Selection& selection) {
  const std::optional<ir::Use> use = graph.sole_use(slice.output(0));
  const ir::Node* squeeze = use && !use->is_capture ? &graph.node(use->node) : nullptr;
  if (squeeze == nullptr || !squeeze->is("Squeeze")) return false;
  const auto starts = ir::integers_of(graph, slice, 1, ""), ends = ir::integers_of(graph, slice, 2, "");
  const auto steps = ir::integers_of(graph, slice, 4, ""), axes = ir::integers_of(graph, *squeeze, 1, "axes");
  const auto is_one = [](const auto& list) { return list && list->size() == 1; };
  if (!is_one(starts) || !is_one(ends) || !is_one(axes) || !steps) return false;
  if (slice.input(4).valid() && (steps->size() != 1 || steps->front() != 1)) return false;
  const auto rank = static_cast<int64_t>(dims.size());
  const Result<int64_t> squeezed = ir::normalize_axis(axes->front(), rank);
  if (!squeezed.ok() || squeezed.value() != selection.axis) return false;
  const int64_t size = dims[static_cast<size_t>(selection.axis)];
  const auto place = [&](int64_t bound) { return std::clamp<int64_t>(bound < 0 ? bound + size : bound, 0, size); };
  const int64_t start = place(starts->front());
  if (place(ends->front()) != start + 1) return false;
  selection.parts.push_back({start, squeeze->output(0), {squeeze->id, slice.id}});
  return true;
}

/// All readers of `value` select from the same axis; nullopt otherwise.
std::optional<Selection> selection_of(const ir::Graph& graph, ir::ValueId value, const ir::Shape& dims) {
  if (graph.value(value).is_output || graph.value(value).uses.empty()) return std::nullopt;
  Selection selection;
  for (const ir::Use& use : graph.value(value).uses) {
    const ir::Node& reader = graph.node(use.node);
    const std::optional<int64_t> axis = selected_axis(graph, reader, static_cast<int64_t>(dims.size()));
    if (use.is_capture || use.input != 0 || !axis || (selection.axis >= 0 && selection.axis != *axis))
      return std::nullopt;
    selection.axis = *axis;
    const bool fits = reader.is("Gather")  ? add_gather(graph, reader, dims, selection)
                      : reader.is("Split") ? add_split(graph, reader, dims, selection)
                      : reader.is("Slice") ? add_slice(graph, reader, dims, selection)
                                           : false;
    if (!fits) return std::nullopt;
  }
  return selection;
}

/// Place of an axis of a view in the viewed tensor: the leading part of one of its axes.
struct Place {
  int64_t axis, chunk;
};

/// Chunks of `input`, viewed and reordered, are the selected elements.
struct Source {
  ir::ValueId input;
  Place place;
  Reordering part;
};

std::optional<Place> place_of(const ir::Shape& viewed, const ir::Shape& dims, size_t axis) {
  const auto product = [](const ir::Shape& shape, size_t count) {
    return std::accumulate(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(count), int64_t{1},
                           std::multiplies<>());
  };
  const int64_t before = product(dims, axis);
  size_t own = 0;
  while (own < viewed.size() && product(viewed, own) < before) ++own;
  if (own == viewed.size() || product(viewed, own) != before || viewed[own] % dims[axis] != 0) return std::nullopt;
  const int64_t chunk = viewed[own] / dims[axis];
  size_t end = axis + 1;
  while (end < dims.size() && product(dims, end) / product(dims, axis + 1) < chunk) ++end;
  if (product(dims, end) / product(dims, axis + 1) != chunk) return std::nullopt;
  return Place{static_cast<int64_t>(own), chunk};
}

void add_part(const ir::Graph& graph, ir::GraphPatch& patch, const Source& source, const Selected& selected) {
  const auto& [input, place, part] = source;
  const ir::Value& output = graph.value(selected.output);
  const auto node = [&](const char* op, const char* suffix, std::vector<ir::PatchValue> inputs, const ir::Shape& dims) {
    const std::string name = output.name + suffix;
    const ir::PatchValue made = patch.value(name, static_type(output.type.element, dims));
    patch.node({op, "", name, std::move(inputs), {made}, {}});
    return made;
  };
  const auto constant = [&](const char* suffix, const std::vector<int64_t>& values) {
    const auto count = static_cast<int64_t>(values.size());
    return patch.initializer(output.name + suffix, ir::Tensor::from<int64_t>({count}, values));
  };
  ir::Shape sliced = graph.value(input).type.shape();
  sliced[static_cast<size_t>(place.axis)] = place.chunk;
  const ir::PatchValue slice =
      node("Slice", "_part",
           {input, constant("_start", {selected.index * place.chunk}),
            constant("_end", {(selected.index + 1) * place.chunk}), constant("_axis", {place.axis})},
           sliced);
  const ir::PatchValue view = node("Reshape", "_view", {slice, constant("_shape", part.dims)}, part.dims);
  patch.node({"Transpose",
              "",
              graph.node(selected.nodes.front()).name,
              {view},
              {selected.output},
              {{"perm", std::vector<int64_t>(part.permutation.begin(), part.permutation.end()), {}, {}}}});
}

std::optional<ir::GraphPatch> select_first(const ir::Graph& graph, const ir::Node& transpose, size_t most_rank) {
  if (!transpose.is("Transpose") || !graph.sole_use(transpose.input(0))) return std::nullopt;
  const ir::Node* view = graph.producer(transpose.input(0));
  if (view == nullptr || !is_view(*view)) return std::nullopt;
  const std::optional<ir::Shape> from = element_shape(graph, view->input(0));
  const std::optional<ir::Shape> viewed = element_shape(graph, transpose.input(0));
  if (!from || !viewed || from->size() > most_rank || viewed->size() <= most_rank) return std::nullopt;
  if (ir::checked_count(*from) != ir::checked_count(*viewed)) return std::nullopt;
  const std::optional<Reordering> whole = reordering_of(transpose, *viewed);
  if (!whole) return std::nullopt;
  const auto& [dims, permutation] = *whole;
  const auto selection = selection_of(graph, transpose.output(0), basic::permuted(dims, permutation));
  if (!selection) return std::nullopt;
  const auto axis = static_cast<size_t>(permutation[static_cast<size_t>(selection->axis)]);
  const std::optional<Place> place = place_of(*from, dims, axis);
  if (!place) return std::nullopt;

  Source source{view->input(0), *place, {}};
  for (size_t i = 0; i < dims.size(); ++i) {
    if (i != axis) source.part.dims.push_back(dims[i]);
    const auto from_axis = static_cast<size_t>(permutation[i]);
    if (from_axis != axis) source.part.permutation.push_back(permutation[i] - (from_axis > axis ? 1 : 0));
  }
  ir::GraphPatch patch;
  patch.remove(view->id);
  patch.remove(transpose.id);
  for (const Selected& selected : selection->parts) {
    for (const ir::NodeId id : selected.nodes) patch.remove(id);
    add_part(graph, patch, source, selected);
  }
  return patch;
}

}  // namespace

Result<Changed> select_before_transpose(pass::FloatContext& context) {
  if (context.model.opset() < kSlicesByInputs) return Changed::kNo;
  const auto most_rank = static_cast<size_t>(context.settings.legalize.most_rank.value_or(ir::kMaxRank));
  return run_rule(context, "select-before-transpose", [&](const ir::Graph& graph, const ir::Node& node) -> Proposal {
    return select_first(graph, node, most_rank);
  });
}

}  // namespace quarkq::rewrite

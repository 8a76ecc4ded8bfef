// SPDX-License-Identifier: MIT
// Four Slices that take every second row and column of an image, joined along the channels, become SpaceToDepth
// (ref:rewrites#space-to-depth): how YOLOv5 and YOLOX begin.
#include <algorithm>
#include <array>
#include <limits>

#include "ir/shape.h"
#include "rewrite/optimize/workspace.h"

namespace quarkq::rewrite::basic {
namespace {

constexpr int64_t kBlock = 2, kRank = 4, kChannelAxis = 1, kHeightAxis = 2;
constexpr size_t kParts = kBlock * kBlock;
constexpr int64_t kSlicesAsInputs = 10;  ///< first opset in which Slice has its lists as inputs, and steps

/// Where the strided rows and columns begin: 0 or 1 once a Slice took them.
using Offsets = std::array<std::optional<int64_t>, 2>;

/// One input of the Concat: one Slice of both axes, or one for each.
struct Part {
  std::vector<ir::NodeId> slices;  ///< The first slice is the first input of the Concat.
  ir::ValueId image;
  Offsets offsets;
  int64_t block() const { return *offsets[0] * kBlock + *offsets[1]; }  ///< place among the parts of SpaceToDepth
};

std::optional<std::vector<int64_t>> stored_list(const Workspace& work, ir::ValueId value) {
  const ir::Tensor* stored = work.constant(value);
  if (stored == nullptr || stored->rank() != 1 || !is_integer(stored->type())) return std::nullopt;
  Result<std::vector<int64_t>> list = ir::to_int64(*stored);
  return list.ok() ? std::optional(std::move(list).value()) : std::nullopt;
}

struct SliceLists {
  std::vector<int64_t> starts, ends, axes, steps;
};

/// The lists of a Slice of a value of rank 4; nothing when one is computed or they do not fit each other.
std::optional<SliceLists> lists_of(const Workspace& work, const ir::Node& slice) {
  const auto starts = stored_list(work, slice.input(1)), ends = stored_list(work, slice.input(2));
  if (!starts || !ends || starts->empty() || starts->size() != ends->size()) return std::nullopt;
  SliceLists lists{*starts, *ends, {}, std::vector<int64_t>(starts->size(), 1)};
  for (size_t i = 0; i < starts->size(); ++i) lists.axes.push_back(static_cast<int64_t>(i));
  const std::pair<size_t, std::vector<int64_t>*> optional_lists[] = {{3, &lists.axes}, {4, &lists.steps}};
  for (const auto& [input, list] : optional_lists) {
    if (!slice.input(input).valid()) continue;
    const auto stored = stored_list(work, slice.input(input));
    if (!stored || stored->size() != starts->size()) return std::nullopt;
    *list = *stored;
  }
  Result<std::vector<int64_t>> axes = ir::normalize_axes(lists.axes, kRank);
  if (!axes.ok()) return std::nullopt;
  lists.axes = std::move(axes).value();
  return lists;
}

bool reaches_end(const ir::Dim& dim, int64_t end) {
  return end == std::numeric_limits<int64_t>::max() || (end >= 0 && dim.known() && end >= dim.size);
}

/// Adds what the Slice strides to `offsets`. False when it does not stride, or cuts anything off.
bool add_offsets(const Workspace& work, const ir::Node& slice, Offsets& offsets) {
  const ir::ValueType& type = work.graph().value(slice.input(0)).type;
  if (!type.has_shape || type.dims.size() != kRank) return false;
  const std::optional<SliceLists> lists = lists_of(work, slice);
  if (!lists) return false;
  bool strides = false;
  for (size_t i = 0; i < lists->axes.size(); ++i) {
    const int64_t axis = lists->axes[i], start = lists->starts[i];
    if (!reaches_end(type.dims[static_cast<size_t>(axis)], lists->ends[i])) return false;
    if (axis >= kHeightAxis && lists->steps[i] == kBlock) {
      std::optional<int64_t>& offset = offsets[static_cast<size_t>(axis - kHeightAxis)];
      if (offset || start < 0 || start >= kBlock) return false;
      offset = start;
      strides = true;
    } else if (lists->steps[i] != 1 || start != 0) {
      return false;
    }
  }
  return strides;
}

std::optional<Part> part_of(const Workspace& work, const ir::Node& concat, ir::ValueId value) {
  Part part;
  while (part.slices.size() < 2) {
    const ir::Node* slice = value.valid() ? work.graph().producer(value) : nullptr;
    if (slice == nullptr || !slice->is("Slice") || work.is_graph_output(value)) return std::nullopt;
    if (part.slices.empty() && work.only_consumer(value) != concat.id) return std::nullopt;
    if (!slice->input(0).valid() || !add_offsets(work, *slice, part.offsets)) return std::nullopt;
    part.slices.push_back(slice->id);
    part.image = value = slice->input(0);
    if (part.offsets[0] && part.offsets[1]) return part;
  }
  return std::nullopt;
}

/// The parts in the order of the Concat: of one image, each of the four once.
std::optional<std::vector<Part>> parts_of(const Workspace& work, const ir::Node& concat) {
  if (!concat.is("Concat") || concat.inputs.size() != kParts) return std::nullopt;
  const Result<int64_t> axis = ir::normalize_axis(concat.int_or("axis", 0), kRank);
  if (!axis.ok() || axis.value() != kChannelAxis) return std::nullopt;
  std::vector<Part> parts;
  std::array<bool, kParts> found{};
  for (const ir::ValueId input : concat.inputs) {
    std::optional<Part> part = part_of(work, concat, input);
    if (!part || (!parts.empty() && part->image != parts.front().image)) return std::nullopt;
    bool& is_known = found[static_cast<size_t>(part->block())];
    if (is_known) return std::nullopt;
    is_known = true;
    parts.push_back(std::move(*part));
  }
  const ElementType element = work.graph().value(parts.front().image).type.element;
  const bool is_computed_in = element == ElementType::kFloat || element == ElementType::kDouble;
  return is_computed_in ? std::optional(std::move(parts)) : std::nullopt;
}

/// Slices that nothing reads once the Concat is gone, readers first.
std::vector<ir::NodeId> unread_slices(const Workspace& work, const ir::Node& concat, const std::vector<Part>& parts) {
  std::vector<ir::NodeId> gone = {concat.id};
  const auto is_gone = [&](ir::NodeId id) { return std::find(gone.begin(), gone.end(), id) != gone.end(); };
  for (const size_t depth : {0u, 1u}) {
    for (const Part& part : parts) {
      if (part.slices.size() <= depth || is_gone(part.slices[depth])) continue;
      const ir::ValueId output = work.node(part.slices[depth]).output(0);
      const Workspace::Consumers readers = work.consumers(output);
      const bool unread = readers.complete && !work.is_graph_output(output) &&
                          std::all_of(readers.nodes.begin(), readers.nodes.end(), is_gone);
      if (unread) gone.push_back(part.slices[depth]);
    }
  }
  gone.erase(gone.begin());
  return gone;
}

/// Channel numbers of SpaceToDepth in the order of the parts; empty when they are in its order already.
std::vector<int64_t> channel_order(const std::vector<Part>& parts, int64_t channels) {
  std::vector<int64_t> order;
  bool is_ordered = true;
  for (size_t i = 0; i < parts.size(); ++i) {
    is_ordered = is_ordered && parts[i].block() == static_cast<int64_t>(i);
    for (int64_t c = 0; c < channels; ++c) order.push_back(parts[i].block() * channels + c);
  }
  return is_ordered ? std::vector<int64_t>() : order;
}

Proposal fuse_focus_at(Workspace& work, const ir::Node& concat) {
  constexpr int64_t kMostChannels = 65536;
  const std::optional<ir::GraphPatch> nothing;
  const std::optional<std::vector<Part>> parts = parts_of(work, concat);
  if (!parts) return nothing;
  const ir::ValueId image = parts->front().image;
  const ir::Dim& channels = work.graph().value(image).type.dims[kChannelAxis];
  if (channels.size > kMostChannels) return nothing;
  const std::vector<int64_t> order = channel_order(*parts, channels.known() ? channels.size : 1);
  if (!order.empty() && channels.size <= 0) return nothing;
  ir::GraphPatch patch;
  patch.remove(concat.id);
  for (const ir::NodeId id : unread_slices(work, concat, *parts)) patch.remove(id);
  const std::string name = work.new_node_name("SpaceToDepth");
  const std::vector<ir::Attribute> block = {{"blocksize", kBlock, {}, {}}};
  if (order.empty()) {
    patch.node({"SpaceToDepth", "", name, {image}, {concat.output(0)}, block});
    return std::optional(std::move(patch));
  }
  const ir::PatchValue blocks = patch.value(work.new_tensor_name("space_to_depth_out"));
  const ir::PatchValue indices =
      patch.initializer(work.new_tensor_name("space_to_depth_gather_indices"),
                        ir::Tensor::from<int64_t>({static_cast<int64_t>(order.size())}, order));
  patch.node({"SpaceToDepth", "", name, {image}, {blocks}, block});
  patch.node({"Gather",
              "",
              work.new_node_name("Gather"),
              {blocks, indices},
              {concat.output(0)},
              {{"axis", kChannelAxis, {}, {}}}});
  return std::optional(std::move(patch));
}

}  // namespace

Result<bool> fuse_space_to_depth(Workspace& work) {
  const WorkspaceRule rules[] = {fuse_focus_at};
  return work.opset() < kSlicesAsInputs ? Result<bool>(false) : work.sweep(rules);
}

}  // namespace quarkq::rewrite::basic

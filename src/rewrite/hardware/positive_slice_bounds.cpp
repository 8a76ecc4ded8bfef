// SPDX-License-Identifier: MIT
// Negative bounds of Slice, which count from the end, become positive ones. The compiler of X2 aborts on a Concat of
// two Slices with negative bounds, which is what torch.roll exports.
#include <algorithm>

#include "ir/constants.h"
#include "ir/shape.h"
#include "rewrite/driver.h"
#include "rewrite/passes.h"

namespace quarkq::rewrite {

namespace {

constexpr int64_t kSliceWithBoundInputs = 10;  // Opset from which the bounds of Slice are inputs.

using Numbers = std::vector<int64_t>;

/// Stored bounds, with one axis for each.
struct Bounds {
  Numbers starts, ends, axes;
};

/// Returns nullopt if a list is computed, if lengths differ or if a step is negative: an end of -1 then differs from
/// the last place.
std::optional<Bounds> bounds_of(const ir::Graph& graph, const ir::Node& slice) {
  const auto starts = ir::integers_of(graph, slice, 1, "starts"), ends = ir::integers_of(graph, slice, 2, "ends");
  auto axes = ir::integers_of(graph, slice, 3, "axes");
  const auto steps = ir::integers_of(graph, slice, 4, "steps");
  if (!starts || !ends || !axes || !steps || starts->size() != ends->size()) return std::nullopt;
  if (std::ranges::any_of(*steps, [](int64_t step) { return step < 1; })) return std::nullopt;
  for (auto axis = static_cast<int64_t>(axes->size()); axes->size() < starts->size() && !slice.input(3).valid(); ++axis)
    axes->push_back(axis);
  if (axes->size() != starts->size()) return std::nullopt;
  return Bounds{*starts, *ends, *std::move(axes)};
}

/// Replaces negative numbers by the places that they count to. Returns false if there are none, or if a length is not
/// known.
bool count_from_the_front(const std::vector<ir::Dim>& dims, Bounds& bounds) {
  bool is_changed = false;
  for (size_t i = 0; i < bounds.axes.size(); ++i) {
    if (bounds.starts[i] >= 0 && bounds.ends[i] >= 0) continue;
    const Result<int64_t> axis = ir::normalize_axis(bounds.axes[i], static_cast<int64_t>(dims.size()));
    if (!axis.ok() || !dims[static_cast<size_t>(axis.value())].known()) return false;
    const int64_t length = dims[static_cast<size_t>(axis.value())].size;
    for (int64_t* bound : {&bounds.starts[i], &bounds.ends[i]}) {
      if (*bound < 0) *bound = *bound < -length ? 0 : *bound + length;
    }
    is_changed = true;
  }
  return is_changed;
}

/// A list of int64 or int32. REQUIRES: the numbers fit.
ir::Tensor stored_as(ElementType type, const Numbers& numbers) {
  const ir::Shape dims = {static_cast<int64_t>(numbers.size())};
  if (type == ElementType::kInt32)
    return ir::Tensor::from<int32_t>(dims, std::vector<int32_t>(numbers.begin(), numbers.end()));
  return ir::Tensor::from<int64_t>(dims, numbers);
}

bool may_be_fed(const ir::Graph& graph, const ir::Node& slice) {
  return std::ranges::any_of(std::vector<size_t>{1, 2, 3, 4}, [&](size_t input) {
    return slice.input(input).valid() && graph.value(slice.input(input)).is_input;
  });
}

std::optional<ir::GraphPatch> positive_slice(const ir::Graph& graph, const ir::Node& slice, bool has_inputs) {
  if (!slice.is("Slice") || !slice.input(0).valid() || !slice.output(0).valid() || may_be_fed(graph, slice))
    return std::nullopt;
  const ir::ValueType& type = graph.value(slice.input(0)).type;
  std::optional<Bounds> bounds = bounds_of(graph, slice);
  if (!bounds || !type.has_shape || !count_from_the_front(type.dims, *bounds)) return std::nullopt;
  ir::GraphPatch patch;
  if (!has_inputs) {
    patch.set_attribute(slice.id, "starts", bounds->starts);
    patch.set_attribute(slice.id, "ends", bounds->ends);
    return patch;
  }
  const std::string& name = graph.value(slice.output(0)).name;
  const ElementType type_of_bounds = graph.constant(slice.input(1))->type();  // all lists of a Slice have one type
  patch.set_input(slice.id, 1, patch.initializer(name + "_starts", stored_as(type_of_bounds, bounds->starts)));
  patch.set_input(slice.id, 2, patch.initializer(name + "_ends", stored_as(type_of_bounds, bounds->ends)));
  return patch;
}

}  // namespace

Result<Changed> positive_slice_bounds(pass::FloatContext& context) {
  const bool has_inputs = context.model.opset() >= kSliceWithBoundInputs;
  return run_rule(context, "positive-slice-bounds", [&](const ir::Graph& graph, const ir::Node& node) -> Proposal {
    return positive_slice(graph, node, has_inputs);
  });
}

}  // namespace quarkq::rewrite

// SPDX-License-Identifier: MIT
// Linear Resize as operators that compute the same integers: enlarging by 2, 4 or 8 is a nearest Resize and a depthwise
// Conv with weights of a power-of-two denominator, halving is an AveragePool.
#include <algorithm>
#include <cmath>

#include "base/index.h"
#include "ir/constants.h"
#include "rewrite/driver.h"
#include "rewrite/hardware/axis_moves.h"
#include "rewrite/passes.h"

namespace quarkq::rewrite {
namespace {

constexpr size_t kImageDims = 4;
constexpr int64_t kResizeWithModes = 11;  // Opset from which Resize has coordinate_transformation_mode.
constexpr double kSameFactor = 1e-6;

/// Weights along one axis that turn a nearest Resize into a linear one.
struct AxisFilter {
  std::vector<float> weights = {1};
  int64_t before = 0, after = 0;  ///< Repetitions of the outermost values.
};

/// The filter of an axis that grows by `factor`, a power of two.
AxisFilter filter_of(int64_t factor, bool is_half_pixel) {
  if (factor == 1) return {};
  const auto count = as_index(factor);
  if (is_half_pixel) {  // samples in the middle: [1, 2, ..., 2, 1] / (2 * factor)
    AxisFilter filter{std::vector<float>(count + 1, 1 / static_cast<float>(factor)), factor / 2, factor / 2};
    filter.weights.front() = filter.weights.back() = 0.5f / static_cast<float>(factor);
    return filter;
  }
  // Samples at the start: the mean of the next `factor` values. A zero in front makes the kernel odd.
  AxisFilter filter{std::vector<float>(count + 1, 1 / static_cast<float>(factor)), 1, factor - 1};
  filter.weights.front() = 0;
  return filter;
}

struct LinearResize {
  ir::Shape from, to;
  bool is_half_pixel = false;

  bool is_constant() const { return from[2] == 1 && from[3] == 1; }
  bool halves() const {
    return is_half_pixel && to[2] >= 1 && to[3] >= 1 && from[2] == 2 * to[2] && from[3] == 2 * to[3];
  }
  bool grows() const {
    const auto fits = [&](size_t axis) {
      const int64_t factor = to[axis] / from[axis];
      return to[axis] % from[axis] == 0 && (factor == 1 || factor == 2 || factor == 4 || factor == 8);
    };
    return fits(2) && fits(3);
  }
};

/// Whether the scales, if they are given, are the quotients of the sizes.
bool has_factors(const ir::Graph& graph, const ir::Node& resize, const LinearResize& linear) {
  if (!resize.input(2).valid()) return true;
  const ir::Tensor* scales = graph.constant(resize.input(2));
  if (scales == nullptr) return false;
  if (scales->size() == 0) return true;
  if (scales->type() != ElementType::kFloat || scales->size() != static_cast<int64_t>(kImageDims)) return false;
  for (size_t axis = 0; axis < kImageDims; ++axis) {
    const double factor = static_cast<double>(linear.to[axis]) / static_cast<double>(linear.from[axis]);
    if (std::abs(scales->data<float>()[axis] - factor) > kSameFactor * factor) return false;
  }
  return true;
}

std::optional<LinearResize> read_linear(const ir::Graph& graph, const ir::Node& node) {
  if (!node.is("Resize") || node.string_or("mode", "nearest") != "linear") return std::nullopt;
  if (node.int_or("antialias", 0) != 0 || node.find("axes") != nullptr) return std::nullopt;
  const std::string mode = node.string_or("coordinate_transformation_mode", "half_pixel");
  LinearResize linear{image_shape(graph, node.input(0)), image_shape(graph, node.output(0)), mode != "asymmetric"};
  if (linear.from.empty() || linear.to.empty() || linear.from[0] != linear.to[0] || linear.from[1] != linear.to[1])
    return std::nullopt;
  const bool is_known = mode == "half_pixel" || mode == "pytorch_half_pixel" || mode == "asymmetric";
  const bool is_constant = linear.is_constant() && (is_known || mode == "align_corners");
  if (!is_constant && (!is_known || !has_factors(graph, node, linear))) return std::nullopt;
  return linear;
}

/// Adds the same Resize that repeats values.
void add_nearest(ir::GraphPatch& patch, const ir::Node& resize, const std::string& name, ir::PatchValue output) {
  ir::GraphPatch::PatchNode node{"Resize", "", name, {}, {output}, {}};
  for (const ir::ValueId input : resize.inputs) node.inputs.push_back(input.valid() ? input : ir::PatchValue());
  node.attributes = {{"coordinate_transformation_mode", std::string("asymmetric"), {}, {}},
                     {"mode", std::string("nearest"), {}, {}},
                     {"nearest_mode", std::string("floor"), {}, {}}};
  patch.node(std::move(node));
}

ir::GraphPatch halved(const ir::Node& resize) {
  const std::vector<int64_t> twos = {2, 2};
  ir::GraphPatch patch;
  patch.remove(resize.id);
  patch.node({"AveragePool",
              "",
              resize.name,
              {resize.input(0)},
              {resize.output(0)},
              {{"kernel_shape", twos, {}, {}}, {"strides", twos, {}, {}}}});
  return patch;
}

ir::Tensor depthwise_weights(int64_t channels, const AxisFilter& rows, const AxisFilter& columns) {
  const auto height = static_cast<int64_t>(rows.weights.size()), width = static_cast<int64_t>(columns.weights.size());
  ir::Tensor weights = ir::Tensor::allocate(ElementType::kFloat, {channels, 1, height, width});
  size_t at = 0;
  for (int64_t c = 0; c < channels; ++c) {
    for (const float row : rows.weights) {
      for (const float column : columns.weights) weights.mutable_data<float>()[at++] = row * column;
    }
  }
  return weights;
}

ir::GraphPatch filtered(const ir::Graph& graph, const ir::Node& resize, const LinearResize& linear) {
  const std::string name = graph.value(resize.output(0)).name;
  const AxisFilter rows = filter_of(linear.to[2] / linear.from[2], linear.is_half_pixel);
  const AxisFilter columns = filter_of(linear.to[3] / linear.from[3], linear.is_half_pixel);
  const std::vector<int64_t> pads = {0, 0, rows.before, columns.before, 0, 0, rows.after, columns.after};
  ir::Shape grown = linear.to;
  grown[2] += rows.before + rows.after;
  grown[3] += columns.before + columns.after;
  ir::GraphPatch patch;
  patch.remove(resize.id);
  const ir::PatchValue repeated = patch.value(name + "_repeated", static_type(ElementType::kFloat, linear.to));
  const ir::PatchValue padded = patch.value(name + "_padded", static_type(ElementType::kFloat, grown));
  add_nearest(patch, resize, name + "_repeated", repeated);
  const ir::PatchValue amounts = patch.initializer(name + "_pads", ir::Tensor::from<int64_t>({8}, pads));
  patch.node({"Pad", "", name + "_padded", {repeated, amounts}, {padded}, {{"mode", std::string("edge"), {}, {}}}});
  const ir::PatchValue weights = patch.initializer(name + "_filter", depthwise_weights(linear.to[1], rows, columns));
  const std::vector<int64_t> kernel = {static_cast<int64_t>(rows.weights.size()),
                                       static_cast<int64_t>(columns.weights.size())};
  patch.node({"Conv",
              "",
              resize.name,
              {padded, weights},
              {resize.output(0)},
              {{"group", linear.to[1], {}, {}}, {"kernel_shape", kernel, {}, {}}}});
  return patch;
}

ir::GraphPatch repeated(const ir::Node& resize) {
  ir::GraphPatch patch;
  patch.remove(resize.id);
  add_nearest(patch, resize, resize.name, resize.output(0));
  return patch;
}

}  // namespace

Result<Changed> resize_to_conv(pass::FloatContext& context) {
  if (context.model.opset() < kResizeWithModes) return Changed::kNo;
  return run_rule(context, "resize-to-conv", [](const ir::Graph& graph, const ir::Node& node) -> Proposal {
    const std::optional<LinearResize> linear = read_linear(graph, node);
    if (!linear) return std::optional<ir::GraphPatch>();
    if (linear->is_constant()) return std::optional(repeated(node));
    if (linear->halves()) return std::optional(halved(node));
    return linear->grows() ? std::optional(filtered(graph, node, *linear)) : std::nullopt;
  });
}

}  // namespace quarkq::rewrite

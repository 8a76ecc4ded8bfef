// SPDX-License-Identifier: MIT
// PRelu, which a compiler may not take: LeakyRelu where all slopes are equal, else Relu(x) + (-slope) * Relu(-x).
#include <algorithm>

#include "ir/constants.h"
#include "ir/shape.h"
#include "numeric/real_numbers.h"
#include "pass/output_guard.h"
#include "rewrite/driver.h"
#include "rewrite/passes.h"

namespace quarkq::rewrite {

namespace {

constexpr int64_t kNumpyBroadcast = 7;  // the opset from which slopes, Mul and Add broadcast as in NumPy

/// The stored slopes in float32, all finite, which no caller can replace; else null.
const ir::Tensor* slopes_of(const ir::Graph& graph, const ir::Node& prelu) {
  if (!prelu.is("PRelu") || !prelu.input(1).valid() || graph.value(prelu.input(1)).is_input) return nullptr;
  const ir::Tensor* slopes = graph.constant(prelu.input(1));
  if (slopes == nullptr || slopes->type() != ElementType::kFloat || slopes->size() == 0) return nullptr;
  return numeric::all_finite(slopes->data<float>()) ? slopes : nullptr;
}

ir::GraphPatch leaky_relu_for(const ir::Node& prelu, float slope) {
  ir::GraphPatch patch;
  patch.remove(prelu.id);
  patch.node({"LeakyRelu", "", prelu.name, {prelu.input(0)}, {prelu.output(0)}, {{"alpha", slope, {}, {}}}});
  return patch;
}

ir::GraphPatch sum_for(const ir::Graph& graph, const ir::Node& prelu, const ir::Tensor& slopes) {
  const ir::Value& output = graph.value(prelu.output(0));
  ir::Tensor factors = ir::Tensor::allocate(ElementType::kFloat, slopes.dims());
  std::transform(slopes.data<float>().begin(), slopes.data<float>().end(), factors.mutable_data<float>().begin(),
                 std::negate<>());
  ir::GraphPatch patch;
  patch.remove(prelu.id);
  const auto add = [&](const char* op, const char* suffix, std::vector<ir::PatchValue> inputs) {
    const std::string name = output.name + suffix;
    const ir::PatchValue made = patch.value(name, output.type);
    patch.node({op, "", name, std::move(inputs), {made}, {}});
    return made;
  };
  const ir::PatchValue positive = add("Relu", "_positive", {prelu.input(0)});
  const ir::PatchValue negated = add("Neg", "_negated", {prelu.input(0)});
  const ir::PatchValue negative = add("Relu", "_negative", {negated});
  const ir::PatchValue factor = patch.initializer(output.name + "_factor", std::move(factors));
  const ir::PatchValue scaled = add("Mul", "_scaled", {negative, factor});
  patch.node({"Add", "", prelu.name, {positive, scaled}, {output.id}, {}});
  return patch;
}

}  // namespace

Result<Changed> prelu_to_leaky_relu(pass::FloatContext& context) {
  const bool broadcasts = context.model.opset() >= kNumpyBroadcast;
  return run_rule(context, "prelu-to-leaky-relu", [&](const ir::Graph& graph, const ir::Node& node) -> Proposal {
    const ir::Tensor* slopes = slopes_of(graph, node);
    if (slopes == nullptr) return std::optional<ir::GraphPatch>();
    const std::span<const float> values = slopes->data<float>();
    const bool is_one = std::all_of(values.begin(), values.end(), [&](float value) { return value == values[0]; });
    if (is_one) return std::optional(leaky_relu_for(node, values[0]));
    return broadcasts ? std::optional(sum_for(graph, node, *slopes)) : std::nullopt;
  });
}

// Split becomes one Slice per output, with bounds in Constant nodes named after the output as the reference does.

namespace {

/// The reference gives up at the first Split that does not write its sizes, and leaves all after it, too.
bool stops_at_unwritten_sizes(const config::Settings& settings) {
  return !settings.quirk(config::Quirk::kSliceUnwrittenSplits);
}

/// The sizes as written; empty when they are to be equal, nothing when they are computed.
std::optional<std::vector<int64_t>> written_sizes(const ir::Graph& graph, const ir::Node& split) {
  return ir::integers_of(graph, split, 1, "split");
}

/// Equal parts of the axis, the last one smaller when they do not fit. Nothing when its length is unknown.
std::optional<std::vector<int64_t>> equal_sizes(const ir::Graph& graph, const ir::Node& split, int64_t axis) {
  const ir::ValueType& type = graph.value(split.input(0)).type;
  if (!type.has_shape) return std::nullopt;
  const Result<int64_t> place = ir::normalize_axis(axis, static_cast<int64_t>(type.dims.size()));
  if (!place.ok()) return std::nullopt;
  const int64_t length = type.dims[static_cast<size_t>(place.value())].size;
  const auto parts = static_cast<int64_t>(split.outputs.size());
  const int64_t part = (length + parts - 1) / parts;
  if (length < 0 || part * (parts - 1) > length) return std::nullopt;
  std::vector<int64_t> sizes(split.outputs.size(), part);
  sizes.back() = length - part * (parts - 1);
  return sizes;
}

/// May these be the parts of an axis? None is negative, and their sum is a length.
bool are_lengths(const std::vector<int64_t>& sizes) {
  std::optional<int64_t> total = 0;
  for (const int64_t size : sizes) {
    if (size >= 0 && total) total = ir::checked_sum(*total, size);
    if (size < 0 || !total) return false;
  }
  return true;
}

/// Slice's bounds are inputs from opset 10 on.
constexpr int64_t kSliceWithInputs = 10;

ir::GraphPatch slices_for(const ir::Graph& graph, const ir::Node& split, const std::vector<int64_t>& sizes) {
  ir::GraphPatch patch;
  patch.remove(split.id);
  patch.place_at_end();
  const int64_t axis = split.int_or("axis", 0);
  const ir::ValueType one_integer{ElementType::kInt64, /*has_shape=*/true, {{1, {}}}, {}};
  int64_t start = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    const ir::ValueId output = split.outputs[i];
    const int64_t end = start + sizes[i];
    if (output.valid()) {
      const std::string name = graph.value(output).name;
      std::vector<ir::PatchValue> inputs = {split.input(0)};
      const std::pair<const char*, int64_t> bounds[] = {{"starts", start}, {"ends", end}, {"axes", axis}, {"steps", 1}};
      for (const auto& [what, number] : bounds) {
        const ir::Tensor tensor = ir::Tensor::from<int64_t>({1}, std::vector<int64_t>{number});
        inputs.push_back(patch.value(cat(name, "_", what, "_", i), one_integer));
        patch.node({"Constant", "", "", {}, {inputs.back()}, {{"value", tensor, {}, {}}}});
      }
      patch.node({"Slice", "", cat(name, "_", i), std::move(inputs), {output}, {}});
    }
    start = end;
  }
  return patch;
}

}  // namespace

Result<Changed> convert_split_to_slice(pass::FloatContext& context) {
  bool stopped = false;
  const auto rule = [&](const ir::Graph& graph, const ir::Node& split) -> Proposal {
    if (stopped || !split.is("Split") || !context.selection.selects(split)) return std::optional<ir::GraphPatch>();
    std::optional<std::vector<int64_t>> sizes = written_sizes(graph, split);
    const bool unwritten = !sizes || sizes->empty();
    if (sizes && sizes->empty()) sizes = equal_sizes(graph, split, split.int_or("axis", 0));
    stopped = unwritten && stops_at_unwritten_sizes(context.settings);
    const bool fits = sizes && sizes->size() == split.outputs.size() && are_lengths(*sizes);
    if (!stopped && fits && context.model.opset() >= kSliceWithInputs)
      return std::optional(slices_for(graph, split, *sizes));
    context.diagnostics.add("split-kept", graph.label(split.id),
                            stopped ? "its sizes are not stored; it and all Splits after it are kept"
                                    : "its sizes are not known, or the opset has no Slice with inputs; it is kept");
    return std::optional<ir::GraphPatch>();
  };
  QQ_TRY(const Changed changed, run_once(context.graph(), rule));
  return pass::tidy_up(context.graph(), changed);
}

}  // namespace quarkq::rewrite

// SPDX-License-Identifier: MIT
// PRelu, which a compiler may not take: LeakyRelu where all slopes are equal, else Relu(x) + (-slope) * Relu(-x).
#include <algorithm>

#include "numeric/finite.h"
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

}  // namespace quarkq::rewrite

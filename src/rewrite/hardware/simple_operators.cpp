// SPDX-License-Identifier: MIT
// Sub, Tanh, views and large pads of Convs, which a compiler may not place, as operators that it places.
#include <algorithm>

#include "ir/constants.h"
#include "rewrite/driver.h"
#include "rewrite/hardware/axis_moves.h"
#include "rewrite/passes.h"

namespace quarkq::rewrite {

namespace {

constexpr int64_t kBroadcastsLikeNumpy = 7;  // Opset from which Add, Mul and Sub broadcast as in NumPy.

bool is_float32(const ir::Graph& graph, ir::ValueId value) {
  return value.valid() && graph.value(value).type.element == ElementType::kFloat;
}

/// Returns float32 data that no caller can replace, or null.
const ir::Tensor* fixed_floats(const ir::Graph& graph, ir::ValueId value) {
  const ir::Tensor* stored = value.valid() && !graph.value(value).is_input ? graph.constant(value) : nullptr;
  return stored != nullptr && stored->type() == ElementType::kFloat ? stored : nullptr;
}

ir::GraphPatch sum_with_negated(const ir::Graph& graph, const ir::Node& sub) {
  const std::string name = graph.value(sub.output(0)).name + "_negated";
  const ir::ValueId subtracted = sub.input(1);
  ir::GraphPatch patch;
  patch.remove(sub.id);
  ir::PatchValue negated;
  if (const ir::Tensor* stored = fixed_floats(graph, subtracted)) {
    ir::Tensor values = ir::Tensor::allocate(ElementType::kFloat, stored->dims());
    std::ranges::transform(stored->data<float>(), values.mutable_data<float>().begin(), std::negate<>());
    negated = patch.initializer(name, std::move(values));
  } else {
    negated = patch.value(name, graph.value(subtracted).type);
    patch.node({"Neg", "", name, {subtracted}, {negated}, {}});
  }
  patch.node({"Add", "", sub.name, {sub.input(0), negated}, {sub.output(0)}, {}});
  return patch;
}

}  // namespace

Result<Changed> sub_to_add(pass::FloatContext& context) {
  if (context.model.opset() < kBroadcastsLikeNumpy) return Changed::kNo;
  return run_rule(context, "sub-to-add", [](const ir::Graph& graph, const ir::Node& node) -> Proposal {
    const bool fits = node.is("Sub") && is_float32(graph, node.input(0)) && is_float32(graph, node.input(1));
    return fits ? std::optional(sum_with_negated(graph, node)) : std::nullopt;
  });
}

namespace {

ir::GraphPatch sigmoid_for(const ir::Graph& graph, const ir::Node& tanh) {
  const ir::Value& output = graph.value(tanh.output(0));
  ir::GraphPatch patch;
  patch.remove(tanh.id);
  const auto add = [&](const char* op, const char* suffix, std::vector<ir::PatchValue> inputs) {
    const std::string name = output.name + suffix;
    const ir::PatchValue made = patch.value(name, output.type);
    patch.node({op, "", name, std::move(inputs), {made}, {}});
    return made;
  };
  const ir::PatchValue two = patch.initializer(output.name + "_two", ir::Tensor::scalar<float>(2));
  const ir::PatchValue one = patch.initializer(output.name + "_minus_one", ir::Tensor::scalar<float>(-1));
  const ir::PatchValue gate = add("Sigmoid", "_sigmoid", {add("Mul", "_doubled", {tanh.input(0), two})});
  patch.node({"Add", "", tanh.name, {add("Mul", "_scaled", {gate, two}), one}, {output.id}, {}});
  return patch;
}

}  // namespace

Result<Changed> tanh_to_sigmoid(pass::FloatContext& context) {
  if (context.model.opset() < kBroadcastsLikeNumpy) return Changed::kNo;
  return run_rule(context, "tanh-to-sigmoid", [](const ir::Graph& graph, const ir::Node& node) -> Proposal {
    const bool fits = node.is("Tanh") && is_float32(graph, node.input(0));
    return fits ? std::optional(sigmoid_for(graph, node)) : std::nullopt;
  });
}

namespace {

constexpr int64_t kReshapeWithInputs = 5;  // Opset from which the shape of Reshape is an input.

std::optional<ir::GraphPatch> reshape_for(const ir::Graph& graph, const ir::Node& node) {
  if (!node.is("Squeeze") && !node.is("Unsqueeze") && !node.is("Flatten")) return std::nullopt;
  const ir::Value& output = graph.value(node.output(0));
  if (!is_float32(graph, node.input(0)) || graph.constant(node.input(0)) != nullptr) return std::nullopt;
  if (!graph.value(node.input(0)).type.is_static() || !output.type.is_static()) return std::nullopt;
  const ir::Shape dims = output.type.shape();
  if (std::ranges::find(dims, 0) != dims.end()) return std::nullopt;  // Reshape reads 0 as "the same as before"
  ir::GraphPatch patch;
  patch.remove(node.id);
  const ir::PatchValue shape =
      patch.initializer(output.name + "_shape", ir::Tensor::from<int64_t>({static_cast<int64_t>(dims.size())}, dims));
  patch.node({"Reshape", "", node.name, {node.input(0), shape}, {output.id}, {}});
  return patch;
}

}  // namespace

Result<Changed> views_to_reshape(pass::FloatContext& context) {
  if (context.model.opset() < kReshapeWithInputs) return Changed::kNo;
  return run_rule(context, "views-to-reshape",
                  [](const ir::Graph& graph, const ir::Node& node) -> Proposal { return reshape_for(graph, node); });
}

namespace {

constexpr int64_t kPadWithInputs = 11;  // Opset from which the amounts of Pad are an input.

/// Returns the pads of a Conv if one of them is not below its kernel, otherwise an empty list.
std::vector<int64_t> large_pads(const ir::Graph& graph, const ir::Node& conv) {
  if (!conv.is("Conv") || !is_float32(graph, conv.input(0)) || !conv.input(1).valid()) return {};
  if (conv.string_or("auto_pad", "NOTSET") != "NOTSET") return {};
  std::vector<int64_t> pads = conv.ints_or("pads", {});
  const std::vector<ir::Dim>&kernel = graph.value(conv.input(1)).type.dims,
        &image = graph.value(conv.input(0)).type.dims;
  if (kernel.size() < 3 || image.size() != kernel.size() || pads.size() != 2 * (kernel.size() - 2)) return {};
  bool is_large = false;
  for (size_t i = 0; i < pads.size(); ++i) {
    const ir::Dim& size = kernel[2 + i % (kernel.size() - 2)];
    if (!size.known() || pads[i] < 0) return {};
    is_large = is_large || pads[i] >= size.size;
  }
  return is_large ? pads : std::vector<int64_t>();
}

ir::GraphPatch pad_for(const ir::Graph& graph, const ir::Node& conv, const std::vector<int64_t>& pads) {
  const std::string name = graph.value(conv.output(0)).name + "_padded";
  const size_t spatial = pads.size() / 2, rank = spatial + 2;
  ir::ValueType type = graph.value(conv.input(0)).type;
  std::vector<int64_t> amounts(2 * rank, 0);
  for (size_t i = 0; i < spatial; ++i) {
    amounts[2 + i] = pads[i];
    amounts[rank + 2 + i] = pads[spatial + i];
    if (type.dims[2 + i].known()) type.dims[2 + i].size += pads[i] + pads[spatial + i];
  }
  ir::GraphPatch patch;
  const auto count = static_cast<int64_t>(amounts.size());
  const ir::PatchValue list = patch.initializer(name + "_amounts", ir::Tensor::from<int64_t>({count}, amounts));
  const ir::PatchValue padded = patch.value(name, std::move(type));
  patch.remove(conv.id);
  patch.node({"Pad", "", name, {conv.input(0), list}, {padded}, {}});
  ir::GraphPatch::PatchNode rest{"Conv", "", conv.name, {padded}, {conv.output(0)}, conv.attributes};
  for (size_t i = 1; i < conv.inputs.size(); ++i) rest.inputs.emplace_back(conv.inputs[i]);
  std::erase_if(rest.attributes, [](const ir::Attribute& one) { return one.name == "pads"; });
  rest.attributes.push_back({"pads", std::vector<int64_t>(pads.size(), 0), {}, {}});
  patch.node(std::move(rest));
  return patch;
}

}  // namespace

Result<Changed> pad_before_conv(pass::FloatContext& context) {
  if (context.model.opset() < kPadWithInputs) return Changed::kNo;
  return run_rule(context, "pad-before-conv", [](const ir::Graph& graph, const ir::Node& node) -> Proposal {
    const std::vector<int64_t> pads = large_pads(graph, node);
    return pads.empty() ? std::nullopt : std::optional(pad_for(graph, node, pads));
  });
}

}  // namespace quarkq::rewrite

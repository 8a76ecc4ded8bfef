// SPDX-License-Identifier: MIT
#include "rewrite/optimize/local_rules.h"

#include "ir/constants.h"
#include "rewrite/optimize/workspace.h"

namespace quarkq::rewrite::basic {
namespace {

bool is_no_op(const Workspace& work, const ir::Node& node) {
  if (node.is("Identity")) return true;
  if (node.is("Dropout")) {
    const ir::ValueId mask = node.output(1);
    return !node.input(2).valid() && (!mask.valid() || work.graph().use_count(mask) == 0);
  }
  if (!node.is("Cast") || !node.input(0).valid()) return false;
  const ElementType from = work.graph().value(node.inputs[0]).type.element;
  return from != ElementType::kUndefined && node.int_or("to", 0) == static_cast<int64_t>(from);
}

}  // namespace

Proposal bypass_no_op(Workspace& work, const ir::Node& node) {
  if (!is_no_op(work, node)) return std::optional<ir::GraphPatch>();
  const ir::ValueId input = node.input(0), output = node.output(0);
  ir::GraphPatch patch;
  patch.remove(node.id);
  if (!work.is_graph_output(output)) {
    patch.replace(output, input);
    return std::optional(std::move(patch));
  }
  // The maker of the input writes the graph output itself, unless the input has another reader. A Cast stays there.
  const ir::Node* maker = work.graph().producer(input);
  if (maker == nullptr || node.is("Cast") || work.only_consumer(input) != node.id)
    return std::optional<ir::GraphPatch>();
  size_t index = 0;
  while (maker->outputs[index] != input) ++index;
  patch.set_output(maker->id, index, output);
  patch.add_origins(maker->id, node.id);
  return std::optional(std::move(patch));
}

Proposal fold_product_into_reciprocal(Workspace& work, const ir::Node& division) {
  const std::optional<ir::GraphPatch> nothing;
  const ir::NodeId product_id = division.is("Div") ? work.only_consumer(division.output(0)) : ir::NodeId{};
  if (!product_id.valid() || !work.node(product_id).is("Mul")) return nothing;
  const ir::Tensor* one = work.constant(division.input(0));
  // Whole numbers stay: ONNX Runtime changes them, too, which is another function.
  if (one == nullptr || one->size() != 1 || !is_floating(one->type())) return nothing;
  const ir::ValueType& divisor = work.graph().value(division.input(1)).type;
  const size_t rank = divisor.has_shape ? divisor.dims.size() : 0;
  if (static_cast<size_t>(one->rank()) > rank) return nothing;  // it makes the result's rank
  const Result<std::vector<double>> stored = ir::to_double(*one);
  if (!stored.ok() || stored.value()[0] != 1.0) return nothing;
  const ir::Node& product = work.node(product_id);
  const ir::ValueId factor = product.input(product.input(0) == division.output(0) ? 1 : 0);
  if (factor == division.output(0)) return nothing;
  ir::GraphPatch patch;
  patch.set_input(division.id, 0, factor);
  patch.set_output(division.id, 0, product.output(0));
  patch.add_origins(division.id, product_id);
  patch.remove(product_id);
  return std::optional(std::move(patch));
}

Proposal fold_relu_into_clip(Workspace& work, const ir::Node& relu) {
  constexpr int64_t kLimitsAsInputs = 11;
  const std::optional<ir::GraphPatch> nothing;
  const ir::NodeId clip_id = relu.is("Relu") ? work.only_consumer(relu.output(0)) : ir::NodeId{};
  if (!clip_id.valid() || !work.node(clip_id).is("Clip")) return nothing;
  const ir::Node& clip = work.node(clip_id);
  if (clip.input(0) != relu.output(0)) return nothing;
  const std::optional<double> lowest = ir::number_of(work.graph(), clip, 1, "min", -1.0);
  if (!lowest || (clip.input(1).valid() && work.constant(clip.input(1)) == nullptr)) return nothing;
  const bool as_input = work.opset() >= kLimitsAsInputs;
  if (*lowest < 0 && as_input && work.graph().value(relu.output(0)).type.element != ElementType::kFloat) return nothing;
  ir::GraphPatch patch;
  if (*lowest < 0 && as_input) {
    const std::string name = work.new_tensor_name(cat("FuseReluClip_", relu.name, "_min_zero_constant"));
    patch.set_input(clip_id, 1, patch.initializer(name, ir::Tensor::scalar(0.0f)));
  } else if (*lowest < 0) {
    patch.set_attribute(clip_id, "min", 0.0f);
  }
  patch.set_input(clip_id, 0, relu.input(0));
  patch.add_origins(clip_id, relu.id);
  patch.remove(relu.id);
  return std::optional(std::move(patch));
}

Result<bool> apply_local_rules(Workspace& work) {
  const WorkspaceRule rules[] = {bypass_no_op, fold_product_into_reciprocal, fold_relu_into_clip, fold_pad,
                                 fold_into_conv};
  return work.sweep(rules);
}

}  // namespace quarkq::rewrite::basic

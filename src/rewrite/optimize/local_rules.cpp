// SPDX-License-Identifier: MIT
#include "rewrite/optimize/local_rules.h"

#include "ir/arguments.h"
#include "rewrite/optimize/steps.h"

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

bool bypass_no_op(Workspace& work, ir::NodeId id) {
  const ir::Node& node = work.node(id);
  if (!is_no_op(work, node)) return false;
  const ir::ValueId input = node.input(0), output = node.output(0);
  if (!work.is_graph_output(output)) {
    work.replace_uses(output, input);
    work.remove_node(id);
    return true;
  }
  // The maker of the input writes the graph output itself, unless somebody else wants the input. A Cast stays there.
  const ir::Node* maker = work.graph().producer(input);
  if (maker == nullptr || node.is("Cast") || work.only_consumer(input) != id) return false;
  const ir::NodeId maker_id = maker->id;
  size_t index = 0;
  while (maker->outputs[index] != input) ++index;
  work.set_input(id, 0, {});
  work.take_output(maker_id, index, output);
  work.add_origins(maker_id, id);
  work.remove_node(id);
  return true;
}

bool fold_relu_into_clip(Workspace& work, ir::NodeId id) {
  constexpr int64_t kLimitsAsInputs = 11;
  const ir::Node& relu = work.node(id);
  const ir::NodeId clip_id = relu.is("Relu") ? work.only_consumer(relu.output(0)) : ir::NodeId{};
  if (!clip_id.valid() || !work.node(clip_id).is("Clip") || work.node(clip_id).input(0) != relu.output(0)) return false;
  const ir::Node& clip = work.node(clip_id);
  const std::optional<double> lowest = ir::number_of(work.graph(), clip, 1, "min", -1.0);
  if (!lowest || (clip.input(1).valid() && work.constant(clip.input(1)) == nullptr)) return false;
  const bool as_input = work.opset() >= kLimitsAsInputs;
  if (*lowest < 0 && as_input && work.graph().value(relu.output(0)).type.element != ElementType::kFloat) return false;
  if (*lowest < 0 && as_input) {
    const ir::ValueId zero =
        work.add_constant(cat("FuseReluClip_", relu.name, "_min_zero_constant"), ir::Tensor::scalar(0.0f));
    if (work.node(clip_id).inputs.size() < 2) work.append_input(clip_id, {});
    work.set_input(clip_id, 1, zero);
  } else if (*lowest < 0) {
    work.set_attribute(clip_id, "min", 0.0f);
  }
  work.set_input(clip_id, 0, work.node(id).input(0));
  work.add_origins(clip_id, id);
  work.remove_node(id);
  return true;
}

Result<bool> apply_local_rules(Workspace& work) {
  using LocalRule = bool (*)(Workspace&, ir::NodeId);
  constexpr LocalRule kRules[] = {bypass_no_op, fold_relu_into_clip, fold_pad, fold_into_conv};
  bool changed = false;
  for (const ir::NodeId id : work.visiting_order()) {
    for (const LocalRule rule : kRules) {
      if (work.graph().is_alive(id)) changed |= rule(work, id);
    }
  }
  return changed;
}

}  // namespace quarkq::rewrite::basic

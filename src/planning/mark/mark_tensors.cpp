// SPDX-License-Identifier: MIT
// Walks the nodes in order and lets the rule of each selected operator mark its tensors (ref:marking#visited-nodes,
// ref:marking#op-rules).
#include <algorithm>

#include "config/format_settings.h"
#include "pass/context.h"
#include "plan/op_rules.h"
#include "plan/runtime_kernels.h"
#include "planning/mixed_precision.h"
#include "planning/passes.h"

namespace quarkq::planning {

namespace {

// Whether the settings of single tensors fit the tensors as they are marked.

Status check_zero_points(const std::string& tensor, const config::TensorOverride& own, const numeric::QuantSpec& spec) {
  const numeric::IntegerRange allowed = numeric::integer_range(spec.type, numeric::RangeKind::kFull);
  for (const config::OverrideValues& values : own.values) {
    if (!values.params) continue;
    const int32_t found = values.params->zero_point;
    if (found < allowed.min || found > allowed.max) {
      return invalid_argument("TensorQuantOverrides.", tensor, ".zero_point: found ", found, ", allowed for ",
                              name(spec.type), " is ", allowed.min, " to ", allowed.max);
    }
  }
  return Status();
}

Status check_count(const ir::Value& value, const config::TensorOverride& own, const numeric::QuantSpec& spec) {
  const size_t found = own.values.size();
  if (found <= 1) return Status();
  if (!value.is_initializer() || !spec.per_channel) {
    return invalid_argument("TensorQuantOverrides.", value.name, ": found ", found, " entries, allowed is 1, because ",
                            value.is_initializer() ? "this constant" : "an activation", " has one scale");
  }
  const auto channels = static_cast<size_t>(value.constant->dims()[static_cast<size_t>(spec.axis)]);
  if (found == channels) return Status();
  return invalid_argument("TensorQuantOverrides.", value.name, ": found ", found, " entries, allowed are 1, or ",
                          channels, ", one for each channel along axis ", spec.axis, " of shape ",
                          shape_text(value.constant->dims()));
}

/// Fails with kInvalidArgument if a zero point is outside of its tensor's type, or if the number of entries is neither
/// 1 nor the number of channels. REQUIRES: tensors are marked.
Status check_overrides(const pass::PlanContext& context) {
  if (!context.settings.quirk(config::Quirk::kCheckOverrides)) return Status();
  for (const plan::QuantSlot& slot : context.plan.slots()) {
    const config::TensorOverride* own = plan::find_override(context.selection.overrides, slot.value);
    const numeric::QuantSpec& spec = slot.stage.spec;
    if (own == nullptr || slot.stage.kind == plan::StageKind::kBlock || !is_integer(spec.type)) continue;
    const ir::Value& value = context.graph().value(slot.value);
    QQ_RETURN_IF_ERROR(check_zero_points(value.name, *own, spec));
    QQ_RETURN_IF_ERROR(check_count(value, *own, spec));
  }
  return Status();
}

void record_refusal(const ir::Node& node, plan::DecisionKind why_not, plan::QuantPlan& plan) {
  for (const auto* values : {&node.inputs, &node.outputs}) {
    for (const ir::ValueId value : *values) {
      if (value.valid()) plan.decisions.push_back({value, why_not, node.id});
    }
  }
}

/// Values that only these nodes read have no pair. A Relu before such a node is not folded into a range that is not
/// written.
void read_floats(const pass::PlanContext& context) {
  plan::QuantPlan& plan = context.plan;
  plan.float_readers = context.selection.reads_float;
  for (const ir::NodeId id : plan.float_readers) {
    for (const ir::ValueId input : context.graph().node(id).inputs) {
      if (!input.valid() || context.graph().value(input).is_initializer()) continue;
      const ir::Value& value = context.graph().value(input);
      std::erase(plan.folded, value.producer);
      const bool has_others = value.is_output || std::ranges::any_of(value.uses, [&](const ir::Use& use) {
                                return use.is_capture || !plan.float_readers.contains(use.node);
                              });
      if (!has_others && plan.has(input)) plan.remove(input);
    }
  }
}

}  // namespace

Result<Changed> mark_tensors(pass::PlanContext& context) {
  const ir::Graph& graph = context.graph();
  const config::Registry registry = context.settings.traits().registry;
  context.plan = plan::QuantPlan(graph.value_count());
  context.plan.operators = plan::QdqOperators(context.settings, context.model.opset());
  context.plan.dedicated_pairs = context.settings.qdq.dedicated_qdq_pair;
  context.plan.pair_per_input = context.settings.quirk(config::Quirk::kPairPerInput);
  context.plan.dedicated_uses.resize(graph.value_count());
  QQ_TRY(const plan::TensorFormats formats, plan::TensorFormats::make(context.settings, context.selection.overrides));
  plan::Marker marker(context.model, context.settings, formats, context.plan, context.diagnostics);
  for (const ir::NodeId id : graph.order()) {
    const ir::Node& node = graph.node(id);
    if (const auto why_not = context.selection.refusal(node)) {
      record_refusal(node, *why_not, context.plan);
      continue;
    }
    marker.begin(node);
    plan::rule_for(node.op, registry)(marker, node);
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (!node.inputs[i].valid()) continue;
      context.plan.dedicated_uses[static_cast<size_t>(node.inputs[i].index)].push_back(
          {id, static_cast<int32_t>(i), false});
    }
  }
  read_floats(context);
  QQ_RETURN_IF_ERROR(check_overrides(context));
  return context.plan.slots().empty() ? Changed::kNo : Changed::kYes;
}

// CalibPassthroughOpTypes are not quantized either: the reference takes them off the list that both steps read
// (ref:calibration#passthrough).

Result<Changed> exclude_passthrough_ops(pass::PlanContext& context) {
  size_t left = 0;
  for (const std::string& type : context.settings.ranges.calib_passthrough_op_types) {
    left += context.selection.op_types.erase(type);
  }
  return left == 0 ? Changed::kNo : Changed::kYes;
}

// Nodes on which ONNX Runtime fails between Q and DQ (ref:writing#runtime-kernels) stay float and read float values:
// a pair of the nodes around them would be enough for ONNX Runtime to move them onto integers.

Result<Changed> leave_without_kernel(pass::PlanContext& context) {
  Changed changed = Changed::kNo;
  for (const ir::NodeId id : context.graph().order()) {
    const plan::KernelLimit* limit = plan::missing_kernel(context.graph().node(id));
    if (limit == nullptr || !context.selection.reads_float.insert(id).second) continue;
    context.selection.left_float.insert(id);
    context.diagnostics.add("kernel-missing", context.graph().label(id),
                            cat("stays float: ONNX Runtime cannot run ", limit->reason, " on integers"));
    changed = Changed::kYes;
  }
  return changed;
}

// Formats without ranges may give way to formats with them later (mix_precision): their tensors are measured, too.

Result<Changed> measure_for_mixing(pass::PlanContext& context) {
  QQ_TRY(const std::optional<MixedOptions> options, mixed_options(context.settings));
  const auto needs_range = [](const std::optional<MixedFormat>& format) {
    return format && format->stage.kind != plan::StageKind::kBlock && format->stage.spec.needs_range();
  };
  const bool needed = options && std::any_of(options->configs.begin(), options->configs.end(), [&](const auto& config) {
                        return needs_range(config.input) || needs_range(config.output);
                      });
  if (!needed) return Changed::kNo;
  for (plan::QuantSlot& slot : context.plan.slots()) slot.always_measured = true;
  return Changed::kYes;
}

}  // namespace quarkq::planning

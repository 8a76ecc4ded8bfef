// SPDX-License-Identifier: MIT
// Every slot gets its parameter id; slots marked "same as" get the one of their provider, through chains
// (ref:marking#shared-parameters). Settings of its own on either side end the sharing, and so does a provider with
// scales per channel: its channels do not run along the same axis of what a node computes from it. Slots that have an
// id keep it.
#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "ir/constants.h"
#include "ir/graph_analysis.h"
#include "plan/constant_codes.h"
#include "planning/passes.h"

namespace quarkq::planning {

Result<Changed> resolve_sharing(pass::PlanContext& context) {
  plan::QuantPlan& plan = context.plan;
  const plan::TensorOverrides& overrides = context.selection.overrides;
  Changed changed = Changed::kNo;
  for (plan::QuantSlot& slot : plan.slots()) {
    if (slot.stage.params.valid()) continue;
    changed = Changed::kYes;
    const plan::QuantSlot* provider = plan.find(slot.provider);
    const bool is_per_channel =
        provider != nullptr && (provider->stage.spec.per_channel || provider->role == plan::Role::kBias);
    const bool alone = is_per_channel || overrides.contains(slot.value) || overrides.contains(slot.provider);
    if (!slot.provider.valid() || alone) slot.stage.params = plan.params.add();
  }
  bool waiting = true;
  for (bool progress = true; waiting && progress;) {
    waiting = progress = false;
    for (plan::QuantSlot& slot : plan.slots()) {
      if (slot.stage.params.valid()) continue;
      const plan::QuantSlot* provider = plan.find(slot.provider);
      if (provider != nullptr && provider->stage.params.valid()) {
        const plan::Stage& theirs = provider->stage;
        const bool is_block = theirs.kind == plan::StageKind::kBlock;
        slot.stage = {is_block ? theirs.kind : plan::StageKind::kPair, theirs.spec, theirs.params, theirs.block};
        plan.decisions.push_back({slot.value, plan::DecisionKind::kShared, {}, slot.provider});
        progress = true;
      } else {
        waiting = true;
      }
    }
  }
  for (const plan::QuantSlot& slot : plan.slots()) {
    if (slot.stage.params.valid()) continue;
    return internal_error("tensor ", context.graph().value(slot.value).name, " shares the scale of ",
                          context.graph().value(slot.provider).name, ", which is never quantized");
  }
  return changed;
}

// The scale of an int32 bias is the product of its node's scales. If one is missing, or the scales of the weight do not
// fit the bias, the bias stays float. (The reference aborts.) It also stays float if the input has more than 16 bits:
// int32 cannot represent a bias in products of such steps, and widening the weight's scale would destroy the weights.
// Only weights of 32 bits have bits to spare for that; ONNX Runtime quantizes a float bias next to them itself, and
// overflows. A mask added to the output of a layer also stays float, because otherwise the weight's scale would grow
// until int32 represents the sentinels, and all weights would become 0.

namespace {

bool is_too_fine(const pass::PlanContext& context, ir::ValueId value) {
  constexpr int kMostBits = 16;
  const ElementType type = context.plan.slot(value).stage.spec.type;
  return context.settings.guards() && is_integer(type) && bits(type) > kMostBits;
}

/// Whether a bias is a mask for the Softmax that follows the layer, with numbers beyond what int32 counts to in steps
/// of usual scales, or holds infinities.
bool is_mask(const pass::PlanContext& context, const plan::QuantSlot& bias, const std::vector<bool>& only_softmax) {
  constexpr float kLargest = 1e6f;
  const ir::ValueId sum = context.graph().node(bias.bias->node).output(0);
  const Result<std::vector<float>> values = ir::float_values(*context.graph().value(bias.value).constant);
  if (!context.settings.guards() || !values.ok()) return false;
  const float most = only_softmax[static_cast<size_t>(sum.index)] ? kLargest : std::numeric_limits<float>::max();
  return std::ranges::any_of(values.value(), [&](float value) { return std::abs(value) > most; });
}

void report_misfit(pass::PlanContext& context, const plan::QuantSlot& bias) {
  const ir::Graph& graph = context.graph();
  const ir::Value &own = graph.value(bias.value), &weight = graph.value(bias.bias->weight);
  const int64_t axis = context.plan.slot(weight.id).stage.spec.axis;
  context.diagnostics.add(
      "bias-without-scale", own.name,
      cat("is the bias of ", graph.label(bias.bias->node), ", shape ", shape_text(own.constant->dims()),
          ", and the scales of ", weight.name, ", one for each of ", weight.constant->dims()[static_cast<size_t>(axis)],
          " along axis ", axis, ", do not fit it; the bias stays float"));
}

}  // namespace

Result<Changed> release_biases(pass::PlanContext& context) {
  std::set<ir::ValueId> released;
  const std::vector<bool> only_softmax = ir::feeds_softmax_only(context.graph());
  for (const plan::QuantSlot& slot : context.plan.slots()) {
    if (slot.role != plan::Role::kBias) continue;
    const bool has_scales = context.plan.has(slot.bias->input) && context.plan.has(slot.bias->weight);
    const bool fits = !has_scales || plan::has_fitting_weight(context.graph(), context.plan, slot);
    const bool adds_mask = is_mask(context, slot, only_softmax);
    if (has_scales && fits && !adds_mask && !is_too_fine(context, slot.bias->input)) continue;
    context.plan.decisions.push_back({slot.value, plan::DecisionKind::kBiasWithoutScale, slot.bias->node});
    released.insert(slot.value);
    if (!fits) report_misfit(context, slot);
    if (adds_mask) {
      context.diagnostics.add("bias-without-scale", context.graph().value(slot.value).name,
                              cat("contains a mask, which is added to the result of ",
                                  context.graph().label(slot.bias->node), "; it stays float"));
    }
    if (has_scales) continue;
    const ir::ValueId missing = context.plan.has(slot.bias->input) ? slot.bias->weight : slot.bias->input;
    context.diagnostics.add("bias-without-scale", context.graph().value(slot.value).name,
                            cat("is the bias of ", context.graph().label(slot.bias->node), ", whose ",
                                context.graph().value(missing).name, " is not quantized; the bias stays float"));
  }
  if (!released.empty())
    context.plan.remove_if([&](const plan::QuantSlot& slot) { return released.contains(slot.value); });
  return released.empty() ? Changed::kNo : Changed::kYes;
}

}  // namespace quarkq::planning

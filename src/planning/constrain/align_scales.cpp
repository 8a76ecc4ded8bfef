// SPDX-License-Identifier: MIT
#include "planning/constrain/align_scales.h"

#include <algorithm>
#include <string_view>

#include "plan/constant_codes.h"
#include "planning/passes.h"

namespace quarkq::planning {

namespace {

/// The source of the parameters of a node's tensors.
enum class From { kInput, kOutput };

struct AlignRule {
  bool config::Settings::Npu::*is_enabled;
  std::vector<std::string_view> ops;
  From from;
};

const std::vector<AlignRule>& align_rules() {
  using config::Settings;
  static const std::vector<AlignRule> kRules = {
      {&Settings::Npu::align_concat, {"Concat"}, From::kOutput},
      {&Settings::Npu::align_pool, {"MaxPool", "AveragePool", "GlobalAveragePool"}, From::kInput},
      {&Settings::Npu::align_pad, {"Pad"}, From::kOutput},
      {&Settings::Npu::align_slice, {"Slice"}, From::kInput},
      {&Settings::Npu::align_transpose, {"Transpose"}, From::kOutput},
      {&Settings::Npu::align_reshape, {"Reshape"}, From::kOutput},
  };
  return kRules;
}

/// A scale per tensor in front of and after the node: constants and values without a pair have none.
plan::QuantSlot* pair_of(pass::PlanContext& context, ir::ValueId value) {
  plan::QuantSlot* slot = context.plan.find(value);
  const bool has_pair = slot != nullptr && slot->state != plan::SlotState::kAbsorbed &&
                        slot->stage.kind == plan::StageKind::kPair && !context.graph().value(value).is_initializer();
  return has_pair ? slot : nullptr;
}

/// Tensors that share the parameters follow, in type as well.
void copy_parameters(pass::PlanContext& context, const plan::Stage& from, const plan::Stage& to) {
  const plan::ParamId target = to.params;
  context.plan.params.set(target, plan::ParamList(context.plan.params[from.params]));
  if (to.spec == from.spec) return;
  for (plan::QuantSlot& slot : context.plan.slots()) {
    if (slot.stage.params == target) slot.stage.spec = from.spec;
  }
}

/// Stored tensors keep their parameters, which their codes are written in: the other tensors that share `id` get a copy
/// of their own.
void separate_from_stored(plan::QuantPlan& plan, plan::ParamId id) {
  const auto is_stored = [](const plan::QuantSlot& slot) { return slot.stage.kind == plan::StageKind::kStored; };
  const auto shares = [&](const plan::QuantSlot& slot) { return slot.stage.params == id; };
  if (std::ranges::none_of(plan.slots(), [&](const auto& slot) { return shares(slot) && is_stored(slot); })) return;
  const plan::ParamId copy = plan.params.add(plan::ParamList(plan.params[id]));
  for (plan::QuantSlot& slot : plan.slots()) {
    if (shares(slot) && !is_stored(slot)) slot.stage.params = copy;
  }
}

void align_node(pass::PlanContext& context, const ir::Node& node, From from, std::set<plan::ParamId>& changed,
                bool& again) {
  const ir::ValueId reference = from == From::kInput ? node.input(0) : node.output(0);
  const plan::QuantSlot* given = pair_of(context, reference);
  if (given == nullptr) return;
  const plan::Stage source = given->stage;
  for (const ir::ValueId value : from == From::kInput ? node.outputs : node.inputs) {
    const plan::QuantSlot* slot = pair_of(context, value);
    if (slot == nullptr || context.plan.params[slot->stage.params] == context.plan.params[source.params]) continue;
    if (context.settings.quirk(config::Quirk::kKeepStoredScales))
      separate_from_stored(context.plan, slot->stage.params);
    const plan::ParamId target = slot->stage.params;
    context.diagnostics.add("scale-aligned", context.graph().label(node.id),
                            cat("tensor ", context.graph().value(value).name, " gets the scale of ",
                                context.graph().value(reference).name));
    copy_parameters(context, source, slot->stage);
    changed.insert(target);
    again = true;
  }
}

/// The pairs around a node of a rule.
std::vector<const plan::QuantSlot*> pairs_around(pass::PlanContext& context, const ir::Node& node, From from) {
  const ir::ValueId reference = from == From::kInput ? node.input(0) : node.output(0);
  std::vector<const plan::QuantSlot*> pairs;
  if (const plan::QuantSlot* given = pair_of(context, reference)) pairs.push_back(given);
  if (pairs.empty()) return pairs;
  for (const ir::ValueId value : from == From::kInput ? node.outputs : node.inputs) {
    if (const plan::QuantSlot* slot = pair_of(context, value)) pairs.push_back(slot);
  }
  return pairs;
}

/// Calls `use(node, rule.from)` for each node of an enabled rule, rule by rule.
template <typename Use>
void for_aligned_nodes(const pass::PlanContext& context, const Use& use) {
  for (const AlignRule& rule : align_rules()) {
    if (!(context.settings.npu.*rule.is_enabled)) continue;
    for (const ir::NodeId id : context.graph().order()) {
      const ir::Node& node = context.graph().node(id);
      if (std::find(rule.ops.begin(), rule.ops.end(), node.op) != rule.ops.end()) use(node, rule.from);
    }
  }
}

/// A tensor that two nodes want to have different scales lets both follow each other without end. The widest scale
/// holds the values of all, and it only grows, so this ends.
void align_to_widest(pass::PlanContext& context, std::set<plan::ParamId>& changed) {
  // Zero points only decide between equal scales, so that one of them is chosen.
  const auto width_of = [&](plan::ParamId params) {
    const numeric::QuantParams& one = context.plan.params[params][0];
    return std::pair(one.scale, one.zero_point);
  };
  const auto width = [&](const plan::QuantSlot* slot) { return width_of(slot->stage.params); };
  for (bool again = true; again;) {
    again = false;
    for_aligned_nodes(context, [&](const ir::Node& node, From from) {
      const std::vector<const plan::QuantSlot*> pairs = pairs_around(context, node, from);
      if (pairs.empty()) return;
      const plan::Stage widest = (*std::ranges::max_element(pairs, {}, width))->stage;
      for (const plan::QuantSlot* slot : pairs) {
        if (!(width(slot) < width_of(widest.params))) continue;
        changed.insert(slot->stage.params);
        copy_parameters(context, widest, slot->stage);
        again = true;
      }
    });
  }
}

bool keeps_bias_codes(const config::Settings& settings) { return !settings.quirk(config::Quirk::kReencodeBiases); }

}  // namespace

Result<Alignment> align(pass::PlanContext& context, const std::function<Status()>& after_round) {
  Alignment result;
  for (bool again = true; again && result.loops < context.settings.npu.max_loop_num;) {
    ++result.loops;
    again = false;
    for_aligned_nodes(context,
                      [&](const ir::Node& node, From from) { align_node(context, node, from, result.changed, again); });
    result.is_settled = !again;
    QQ_RETURN_IF_ERROR(after_round());
  }
  if (!result.is_settled && context.settings.quirk(config::Quirk::kSettleScales)) {
    align_to_widest(context, result.changed);
    result.is_settled = true;
    QQ_RETURN_IF_ERROR(after_round());
  }
  return result;
}

Result<Changed> align_scales(pass::PlanContext& context) {
  bool moved_bias = false;
  auto adjust_biases = [&]() -> Status {
    if (!context.settings.bias.adjust_bias_scale || !keeps_bias_codes(context.settings)) return Status();
    QQ_TRY(const bool moved, rescale_bias_codes(context));
    moved_bias = moved_bias || moved;
    return Status();
  };
  QQ_TRY(const Alignment alignment, align(context, adjust_biases));
  if (!alignment.is_settled) {
    context.diagnostics.add(
        "scales-not-settled", "MaxLoopNum",
        cat("scales still changed in round ", alignment.loops, ", the last that MaxLoopNum allows"));
  }
  if (!alignment.changed.empty() && context.settings.bias.adjust_bias_scale && !keeps_bias_codes(context.settings)) {
    if (context.settings.widens_weight_scales()) QQ_RETURN_IF_ERROR(widen_weight_scales(context).status());
    QQ_RETURN_IF_ERROR(encode_biases(context).status());
  }
  return alignment.changed.empty() && !moved_bias ? Changed::kNo : Changed::kYes;
}

namespace {

const plan::ParamList* bias_scales_of(const pass::PlanContext& context, ir::ValueId value) {
  const plan::QuantSlot* slot = value.valid() ? context.plan.find(value) : nullptr;
  if (slot == nullptr || slot->state == plan::SlotState::kAbsorbed) return nullptr;
  const plan::ParamList& list = context.plan.params[slot->stage.params];
  return list.empty() ? nullptr : &list;
}

/// One for all of `count` values, or one for each.
bool fits(const plan::ParamList& list, int64_t count) {
  return list.size() == 1 || static_cast<int64_t>(list.size()) == count;
}

/// Compares with the length of the longer list, like NumPy compares arrays of one and of many elements.
bool all_differ(const plan::ParamList& a, const plan::ParamList& b) {
  for (size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
    if (a[a.size() > 1 ? i : 0].scale == b[b.size() > 1 ? i : 0].scale) return false;
  }
  return true;
}

ir::Tensor truncated(const ir::Tensor& codes, const plan::ParamList& old_scales, const plan::ParamList& new_scales) {
  std::vector<double> moved;
  for (size_t i = 0; i < static_cast<size_t>(codes.size()); ++i) {
    const float ratio =
        new_scales[new_scales.size() > 1 ? i : 0].scale / old_scales[old_scales.size() > 1 ? i : 0].scale;
    moved.push_back(static_cast<double>(codes.data<int32_t>()[i]) / static_cast<double>(ratio));
  }
  return plan::store_saturated(moved, ElementType::kInt32, codes.dims());
}

}  // namespace

Result<bool> rescale_bias_codes(pass::PlanContext& context) {
  constexpr std::string_view kOps[] = {"Conv", "Gemm", "ConvTranspose"};
  bool changed = false;
  for (const ir::NodeId id : context.graph().order()) {
    const ir::Node& node = context.graph().node(id);
    if (std::ranges::find(kOps, node.op) == std::end(kOps) || node.inputs.size() != 3) continue;
    const plan::ParamList *input = bias_scales_of(context, node.input(0)),
                          *weight = bias_scales_of(context, node.input(1)),
                          *bias = bias_scales_of(context, node.input(2));
    if (input == nullptr || weight == nullptr || bias == nullptr) continue;
    const ir::Tensor* stored = context.graph().constant(node.input(2));
    const int64_t count = stored == nullptr ? 1 : stored->size();
    if (count % static_cast<int64_t>(weight->size()) != 0 || !fits(*bias, count)) continue;
    const plan::ParamList wanted = plan::bias_params(*input, *weight, /*beta=*/1.0f, static_cast<size_t>(count));
    if (!all_differ(wanted, *bias)) continue;
    plan::QuantSlot& slot = context.plan.slot(node.input(2));
    if (!slot.codes || slot.codes->type() != ElementType::kInt32) {
      context.diagnostics.add("bias-not-rescaled", context.graph().label(id),
                              "its bias is not int32, so its scale is not the product of input and weight scale");
      continue;
    }
    slot.codes = truncated(*slot.codes, *bias, wanted);
    context.plan.params.set(slot.stage.params, plan::ParamList(wanted));
    changed = true;
  }
  return changed;
}

}  // namespace quarkq::planning

// SPDX-License-Identifier: MIT
#include <algorithm>
#include <string_view>

#include "plan/bias_scales.h"
#include "plan/constant_codes.h"
#include "planning/constrain/align_scales.h"

namespace quarkq::planning {
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

/// Of the larger one's count, as arrays of one and of many elements are compared.
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

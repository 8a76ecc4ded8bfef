// SPDX-License-Identifier: MIT
// Int16Bias (ref:marking#biases): int32 biases become int16. Their scales stay, so large biases saturate. Before
// tuning, which then works on the values that will be stored; phase legalize raises the opset that int16 needs.
#include <algorithm>

#include "ir/topo.h"
#include "onnx_io/opset_convert.h"
#include "plan/constant_codes.h"
#include "planning/passes.h"

namespace quarkq::planning {
namespace {

constexpr int64_t kOpsetWithInt16 = 21;

/// Phase legalize converts the written model, whose nodes are sorted; those of the plan's graph need not be.
Status can_be_raised(const ir::Model& model) {
  ir::Model sorted = model;  // shares the weights
  QQ_RETURN_IF_ERROR(ir::sort_topologically(sorted.graph).status());
  return onnx_io::convert_opset(sorted, kOpsetWithInt16).status();
}

/// How many values saturate.
size_t narrow(plan::QuantSlot& slot) {
  const auto wide = slot.codes->data<int32_t>();
  std::vector<int32_t> codes(wide.begin(), wide.end());
  size_t saturated = 0;
  for (int32_t& code : codes) {
    const int32_t held = std::clamp(code, -32768, 32767);
    saturated += held != code ? 1 : 0;
    code = held;
  }
  slot.codes = plan::store_codes(codes, ElementType::kInt16, slot.codes->dims());
  slot.stage.spec.type = ElementType::kInt16;
  return saturated;
}

}  // namespace

Result<Changed> narrow_biases(pass::PlanContext& context) {
  std::vector<plan::QuantSlot*> biases;
  for (plan::QuantSlot& slot : context.plan.slots()) {
    const bool is_int32 = slot.role == plan::Role::kBias && slot.codes && slot.codes->type() == ElementType::kInt32;
    if (is_int32) biases.push_back(&slot);
  }
  if (biases.empty()) return Changed::kNo;
  if (context.model.opset() < kOpsetWithInt16) {
    if (const Status raised = can_be_raised(context.model); !raised.ok()) {
      context.diagnostics.add("bias-not-narrowed", "Int16Bias",
                              cat("biases stay int32, the opset cannot be raised: ", raised.message()));
      return Changed::kNo;
    }
  }
  for (plan::QuantSlot* slot : biases) {
    const int64_t count = slot->codes->size();
    if (const size_t saturated = narrow(*slot); saturated > 0)
      context.diagnostics.add("bias-saturated", context.graph().value(slot->value).name,
                              cat(saturated, " of ", count, " values do not fit int16"));
  }
  return Changed::kYes;
}

}  // namespace quarkq::planning

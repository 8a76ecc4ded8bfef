// SPDX-License-Identifier: MIT
// Int16Bias (ref:marking#biases): int32 biases become int16. Their scales stay, so large biases saturate. Before
// tuning, which then works on the values that will be stored; phase legalize raises the opset that int16 needs.
#include <algorithm>
#include <optional>

#include "ir/traversal.h"
#include "onnx_io/opset_convert.h"
#include "plan/constant_codes.h"
#include "planning/passes.h"

namespace quarkq::planning {

namespace {

constexpr int64_t kOpsetWithInt16 = 21;

/// Phase legalize converts the written model, whose nodes are sorted; nodes of the plan's graph need not be sorted.
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

// Blocks run along the axis that a product sums over (ref:writing#block-axes).

namespace {

class AxisRefiner {
 public:
  explicit AxisRefiner(pass::PlanContext& context) : context_(context), refined_(context.graph().value_count()) {}

  void visit(const ir::Node& node) {
    if (node.is("MatMul")) {
      visit_matmul(node);
    } else if (node.is("Gemm")) {
      set(node.input(0), node.int_or("transA", 0) != 0 ? 0 : 1);
      set(node.input(1), node.int_or("transB", 0) != 0 ? 1 : 0);
    } else if (node.is("Softmax")) {
      set(node.input(0), node.int_or("axis", -1));
    }
  }
  bool changed() const { return changed_; }

 private:
  /// `back` counted from the end; constants get it counted from the start, as the reference writes it.
  int64_t axis_of(ir::ValueId value, int64_t back) const {
    const ir::Value& found = context_.graph().value(value);
    return found.is_initializer() ? found.constant->rank() - back : -back;
  }

  void visit_matmul(const ir::Node& node) {
    if (node.input(0).valid() && set(node.input(0), axis_of(node.input(0), 1)))
      set(node.output(0), axis_of(node.input(0), 1));
    if (node.input(1).valid()) set(node.input(1), axis_of(node.input(1), 2));
  }

  /// False when the value has no block format of its own.
  bool set(ir::ValueId value, int64_t axis) {
    plan::QuantSlot* slot = context_.plan.find(value);
    if (slot == nullptr || slot->state == plan::SlotState::kAbsorbed || !slot->stage.block) return false;
    auto& earlier = refined_[static_cast<size_t>(value.index)];
    if (earlier && *earlier != axis) {
      context_.diagnostics.add("block-axis", context_.graph().value(value).name,
                               cat("is read along axis ", *earlier, " and axis ", axis, "; the last reader decides"));
    }
    earlier = axis;
    slot->stage.block->set_axis(axis);
    changed_ = true;
    return true;
  }

  pass::PlanContext& context_;
  std::vector<std::optional<int64_t>> refined_;
  bool changed_ = false;
};

}  // namespace

Result<Changed> refine_block_axis(pass::PlanContext& context) {
  AxisRefiner refiner(context);
  for (const ir::NodeId id : context.graph().order()) refiner.visit(context.graph().node(id));
  return refiner.changed() ? Changed::kYes : Changed::kNo;
}

}  // namespace quarkq::planning

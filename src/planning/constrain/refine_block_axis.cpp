// SPDX-License-Identifier: MIT
// Blocks run along the axis that a product sums over (ref:writing#block-axes).
#include <optional>

#include "planning/passes.h"

namespace quarkq::planning {
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

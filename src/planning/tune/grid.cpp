// SPDX-License-Identifier: MIT
#include "planning/tune/grid.h"

#include "plan/constant_codes.h"

namespace quarkq::planning::finetune {

namespace {

/// Nothing where the scales do not fit.
std::optional<Grid> grid_for(const plan::QuantPlan& plan, const plan::Stage& stage, const ir::Tensor& constant,
                             const numeric::IntegerRange& limits) {
  Grid grid{numeric::split_channels(constant.dims(), stage.spec), plan.params[stage.params], limits};
  const auto scales = static_cast<int64_t>(grid.params.size());
  if (scales > 1 && scales != grid.split.channels)
    grid.split = {1, constant.size(), 1};  // a bias has the scales of its layer
  if (scales == 0 || (scales > 1 && scales != grid.split.channels)) return {};
  return grid;
}

}  // namespace

bool is_stored_integer(const plan::QuantSlot& slot) {
  return slot.stage.kind == plan::StageKind::kStored && is_integer(slot.stage.spec.type) && slot.codes;
}

std::optional<Grid> stored_grid(const plan::QuantPlan& plan, const config::Settings& settings, ir::ValueId value) {
  const plan::QuantSlot* slot = plan.find(value);
  if (slot == nullptr || !is_stored_integer(*slot)) return {};
  return grid_for(plan, slot->stage, *slot->codes, plan::stored_limits(settings, *slot));
}

std::optional<Grid> pair_grid(const plan::QuantPlan& plan, const ir::Tensor& stored, ir::ValueId value) {
  const plan::QuantSlot* slot = plan.find(value);
  const bool is_pair = slot != nullptr && slot->stage.kind == plan::StageKind::kPair &&
                       slot->role != plan::Role::kActivation && is_integer(slot->stage.spec.type) &&
                       slot->state == plan::SlotState::kCalibrated;
  if (!is_pair || stored.type() != ElementType::kFloat) return {};
  return grid_for(plan, slot->stage, stored, numeric::integer_range(slot->stage.spec.type, numeric::RangeKind::kFull));
}

}  // namespace quarkq::planning::finetune

// SPDX-License-Identifier: MIT
#include "plan/quant_plan.h"

#include <algorithm>

#include "base/strings.h"

namespace quarkq::plan {

QuantSlot& QuantPlan::add(ir::ValueId value) {
  if (has(value)) return slot(value);
  const auto index = static_cast<size_t>(value.index);
  if (by_value_.size() <= index) by_value_.resize(index + 1, -1);
  by_value_[index] = static_cast<int>(slots_.size());
  slots_.push_back({});
  slots_.back().value = value;
  return slots_.back();
}

ParamId QuantPlan::own_params(const QuantSlot& slot) {
  const bool is_shared = std::any_of(slots_.begin(), slots_.end(), [&](const QuantSlot& other) {
    return other.value != slot.value && other.stage.params == slot.stage.params;
  });
  return is_shared || !slot.stage.params.valid() ? params.add() : slot.stage.params;
}

void QuantPlan::remove(ir::ValueId value) {
  const int index = index_of(value);
  if (index < 0) return;
  slots_.erase(slots_.begin() + index);
  by_value_[static_cast<size_t>(value.index)] = -1;
  for (size_t i = static_cast<size_t>(index); i < slots_.size(); ++i) {
    by_value_[static_cast<size_t>(slots_[i].value.index)] = static_cast<int>(i);
  }
}

std::string text(const QuantPlan& plan, const ir::Graph& graph) {
  static const char* const kRoles[] = {"activation", "weight", "bias"};
  static const char* const kKinds[] = {" pair", " stored", " block"};
  static const char* const kStates[] = {"planned", "absorbed", "calibrated"};
  std::string out;
  for (const QuantSlot& slot : plan.slots()) {
    out += cat(graph.value(slot.value).name, ": ", kRoles[static_cast<int>(slot.role)], " ",
               kStates[static_cast<int>(slot.state)]);
    const Stage& stage = slot.stage;
    out += cat(" ", stage.block ? stage.block->op : std::string(name(stage.spec.type)),
               kKinds[static_cast<int>(stage.kind)], " p", stage.params.index);
    if (stage.params.valid() && !plan.params[stage.params].empty()) {
      const numeric::QuantParams& first = plan.params[stage.params][0];
      out += cat(" scale=", first.scale, " zero_point=", first.zero_point);
    }
    if (slot.provider.valid()) out += cat(" same-as ", graph.value(slot.provider).name);
    out += "\n";
  }
  return out;
}

}  // namespace quarkq::plan

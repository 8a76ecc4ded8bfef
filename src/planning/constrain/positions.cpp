// SPDX-License-Identifier: MIT
#include "planning/constrain/positions.h"

#include <algorithm>

#include "numeric/finite.h"

namespace quarkq::planning {
namespace {

constexpr int kLargestPosition = 127;  ///< largest position that the reference reads back from a scale

bool averages(const ir::Node& node) { return node.op == "AveragePool" || node.op == "GlobalAveragePool"; }

/// The reference writes one number, whatever the count of channels.
bool moves_first_channel_only(const config::Settings& settings) {
  return !settings.quirk(config::Quirk::kMoveAllChannels);
}

}  // namespace

Positions::Positions(const ir::Graph& graph, plan::QuantPlan& plan, const config::Settings& settings)
    : graph_(graph),
      plan_(plan),
      producers_(annotated_producers(settings)),
      activations_(removable_activations(settings)),
      moves_first_channel_only_(moves_first_channel_only(settings)),
      place_(graph.node_count(), -1) {
  for (size_t i = 0; i < graph.order().size(); ++i) {
    place_[static_cast<size_t>(graph.order()[i].index)] = static_cast<int64_t>(i);
  }
}

int Positions::at(plan::ParamId params) const { return numeric::power_of_two_position(plan_.params[params][0].scale); }

void Positions::set(plan::ParamId params, int position) {
  plan::ParamList list = plan_.params[params];
  const int steps = std::clamp(position, -kLargestPosition, kLargestPosition) - at(params);
  for (numeric::QuantParams& own : list) {
    const int moved = numeric::power_of_two_position(own.scale) + steps;
    own.scale = numeric::scale_of_position(std::clamp(moved, -kLargestPosition, kLargestPosition));
    if (moves_first_channel_only_) break;
  }
  plan_.params.set(params, std::move(list));
}

const plan::QuantSlot* Positions::written_slot(ir::ValueId value) const {
  const plan::QuantSlot* slot = plan_.find(value);
  if (slot == nullptr || slot->state == plan::SlotState::kAbsorbed) return nullptr;
  const plan::ParamList& params = plan_.params[slot->stage.params];
  return !params.empty() && std::ranges::all_of(params, numeric::is_usable_scale, &numeric::QuantParams::scale)
             ? slot
             : nullptr;
}

bool Positions::has_own_pairs(ir::ValueId value) const {
  const auto index = static_cast<size_t>(value.index);
  return plan_.dedicated_pairs && index < plan_.dedicated_uses.size() && plan_.dedicated_uses[index].size() >= 2;
}

bool Positions::reads_raw(const ir::Node& node, size_t i) const {
  const ir::ValueId value = node.input(i);
  const plan::QuantSlot* slot = plan_.find(value);
  if (slot == nullptr || slot->state == plan::SlotState::kAbsorbed) return true;
  if (!has_own_pairs(value)) return false;
  const std::vector<ir::Use>& own = plan_.dedicated_uses[static_cast<size_t>(value.index)];
  return std::find(own.begin(), own.end(), ir::Use{node.id, static_cast<int32_t>(i), false}) == own.end();
}

bool Positions::read_the_same(const ir::Node& a, size_t i, const ir::Node& b, size_t j) const {
  const ir::ValueId value = a.input(i);
  if (!value.valid() || value != b.input(j)) return false;
  if (!has_own_pairs(value)) return true;
  return reads_raw(a, i) && reads_raw(b, j);
}

std::optional<Position> Positions::read_position(const ir::Node& node, size_t i) const {
  const ir::ValueId value = node.input(i);
  if (!value.valid()) return {};
  const plan::QuantSlot* slot = written_slot(value);
  if (slot == nullptr || reads_raw(node, i)) return {};
  return Position{value, slot->stage.params, at(slot->stage.params)};
}

std::optional<Position> Positions::input(const ir::Node& node, size_t i) const {
  if (const auto found = read_position(node, i)) return found;
  if (i != 0 || !averages(node)) return {};
  // One scan along the list: a producer counts only after the one that was found before it.
  int64_t last = -1;
  const ir::Node* walk = &node;
  while (walk->input(0).valid()) {
    const ir::Node* producer = graph_.producer(walk->input(0));
    if (producer == nullptr || producer->output(0) != walk->input(0) || place(producer->id) <= last) return {};
    last = place(producer->id);
    if (const auto found = read_position(*producer, 0)) return found;
    walk = producer;
  }
  return {};
}

std::optional<std::vector<Position>> Positions::all_inputs(const ir::Node& node) const {
  std::vector<Position> all;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const auto found = input(node, i);
    if (!found) return {};
    all.push_back(*found);
  }
  return all;
}

bool Positions::is_connected(const ir::Node& node, const ir::Node& reader) const {
  if ((averages(node) || node.op == "HardSigmoid") && reader.op == "Mul") return true;
  return producers_.contains(node.op) && activations_.contains(reader.op) && is_npu_clip(graph_, reader);
}

std::optional<Position> Positions::output(const ir::Node& node) const {
  int64_t last = -1;
  for (ir::ValueId value = node.output(0); value.valid();) {
    if (const plan::QuantSlot* slot = written_slot(value); slot != nullptr) {
      return Position{value, slot->stage.params, at(slot->stage.params)};
    }
    const ir::Node* next = nullptr;
    for (const ir::Use& use : graph_.value(value).uses) {
      const ir::Node& reader = graph_.node(use.node);
      if (use.is_capture || use.input != 0 || place(use.node) <= last || !is_connected(node, reader)) continue;
      if (next == nullptr || place(use.node) < place(next->id)) next = &reader;
    }
    if (next == nullptr) return {};
    last = place(next->id);
    value = next->output(0);
  }
  return {};
}

}  // namespace quarkq::planning

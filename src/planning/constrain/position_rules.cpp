// SPDX-License-Identifier: MIT
#include "planning/constrain/position_rules.h"

#include <algorithm>

#include "numeric/real_numbers.h"
#include "planning/restructure/simulate_dpu.h"

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
  // One scan along the list: a producer counts only after the preceding match.
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

namespace {

using Limit = Sweep::Limit;

bool by_position(const Position& a, const Position& b) { return a.at < b.at; }

void align_concat(Sweep& sweep, const ir::Node& node) {
  const auto output = sweep.positions().output(node);
  if (!output) return;
  std::vector<Position> all = {*output};
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (const auto input = sweep.positions().input(node, i)) all.push_back(*input);
  }
  const int lowest = std::min_element(all.begin(), all.end(), by_position)->at;
  for (const Position& own : all) {
    if (own.at != lowest) sweep.move(own, lowest, {"position", own.at, lowest, lowest});
  }
}

void align_input_with_output(Sweep& sweep, const ir::Node& node) {
  const auto input = sweep.positions().input(node), output = sweep.positions().output(node);
  if (!input || !output || input->at == output->at) return;
  const Position& larger = std::max(*input, *output, by_position);
  const int lower = std::min(input->at, output->at);
  sweep.move(larger, lower, {"position", larger.at, lower, lower});
}

void adjust_shift_read(Sweep& sweep, const ir::Node& node) {
  const auto inputs = sweep.positions().all_inputs(node);
  if (!inputs || inputs->empty()) return;
  const auto lowest = std::min_element(inputs->begin(), inputs->end(), by_position);
  const auto highest =
      std::max_element(inputs->begin(), inputs->end(), by_position);  // the first one when several are equal
  const Limit limit{"shift_read", highest->at - lowest->at, 0, 7};
  if (!limit.holds()) sweep.move(*highest, lowest->at + limit.high, limit);
}

/// Add shifts the smallest input position to that of the output, Mul the sum of both.
void adjust_shift_write(Sweep& sweep, const ir::Node& node) {
  const auto inputs = sweep.positions().all_inputs(node);
  const auto output = sweep.positions().output(node);
  if (!inputs || inputs->empty() || !output) return;
  const bool adds = node.op == "Add";
  int from = adds ? std::min_element(inputs->begin(), inputs->end(), by_position)->at : 0;
  for (const Position& input : *inputs) from += adds ? 0 : input.at;
  // The reference does not count a move of Mul as a change, so that it alone leads to no further round.
  const Limit limit = adds ? Limit{"shift_write", from - output->at, -7, 25}
                           : Limit{"shift_write", from - output->at, 0, 32, /*asks_for_round=*/false};
  if (!limit.holds()) sweep.move(*output, from - limit.violated(), limit);
}

void adjust_shift_cut(Sweep& sweep, const ir::Node& node) {
  const auto input = sweep.positions().input(node), weight = sweep.positions().input(node, 1);
  const auto output = sweep.positions().output(node);
  if (!input || !weight || !output) return;
  const Limit limit{"shift_cut", weight->at + input->at - output->at, 0, 16};
  if (!limit.holds()) sweep.move(*weight, limit.violated() + output->at - input->at, limit);
}

bool feeds_leaky_relu(const Positions& positions, const ir::Node& node) {
  const auto& uses = positions.graph().value(node.outputs[0]).uses;
  return std::any_of(uses.begin(), uses.end(), [&](const ir::Use& use) {
    const ir::Node& reader = positions.graph().node(use.node);
    return !use.is_capture && use.input == 0 && reader.op == "LeakyRelu" && positions.reads_raw(reader, 0);
  });
}

void adjust_shift_bias(Sweep& sweep, const ir::Node& node) {
  const auto input = sweep.positions().input(node), weight = sweep.positions().input(node, 1);
  const auto bias = sweep.positions().input(node, 2), output = sweep.positions().output(node);
  if (!input || !weight || !bias || !output) return;
  const int product = weight->at + input->at;
  const int low = feeds_leaky_relu(sweep.positions(), node) ? 0 : std::min(0, product - output->at - 16);
  const Limit limit{"shift_bias", product - bias->at, low, 15};
  if (!limit.holds()) sweep.move(*bias, product - limit.violated(), limit);
}

void adjust_hard_sigmoid(Sweep& sweep, const ir::Node& node) {
  constexpr int kAlphaPosition = 14, kLowestOutput = 7, kHighestInput = 15;
  const auto input = sweep.positions().input(node), output = sweep.positions().output(node);
  if (!has_dpu_hard_sigmoid_attributes(node) || !input || !output) return;
  const int new_input = std::clamp(input->at, 0, kHighestInput);
  const int new_output = std::min(std::max(output->at, kLowestOutput), kAlphaPosition + new_input);
  if (new_input != input->at) sweep.move(*input, new_input, {"input position", input->at, 0, kHighestInput});
  if (new_output != output->at) {
    sweep.move(*output, new_output, {"output position", output->at, kLowestOutput, kAlphaPosition + new_input});
  }
}

/// x * hard_sigmoid(x), whatever the operator that has the attributes of a hard sigmoid.
bool is_swish(const Positions& positions, const ir::Node& mul) {
  for (size_t i = 0; i < mul.inputs.size(); ++i) {
    if (!mul.inputs[i].valid()) continue;
    for (const ir::Use& use : positions.graph().value(mul.inputs[i]).uses) {
      const ir::Node& reader = positions.graph().node(use.node);
      if (!use.is_capture && use.input == 0 && has_dpu_hard_sigmoid_attributes(reader) &&
          positions.read_the_same(reader, 0, mul, i)) {
        return true;
      }
    }
  }
  return false;
}

void adjust_shift_swish(Sweep& sweep, const ir::Node& node) {
  if (node.inputs.size() != 2 || !is_swish(sweep.positions(), node)) return;
  const auto inputs = sweep.positions().all_inputs(node);
  const auto output = sweep.positions().output(node);
  if (!inputs || !output) return;
  const int from = (*inputs)[0].at + (*inputs)[1].at;
  const Limit limit{"shift_swish", from - output->at, 0, 15};
  if (!limit.holds()) sweep.move(*output, from - limit.violated(), limit);
}

constexpr char kOneScale[] = "quantize again: the tensors around it need one scale";
constexpr char kNarrowRanges[] = "bring the ranges of the tensors closer together, or exclude the node";

}  // namespace

void Sweep::move(const Position& position, int to, const Limit& limit) {
  moves_.push_back({rule_, loop_, node_, position, to, limit.measure, limit.found, limit.low, limit.high});
  if (limit.asks_for_round) asks_for_round_ = true;
  if (mode_ == Mode::kMove) positions_.set(position.params, to);
}

bool Sweep::run(const PositionRule& rule, int loop) {
  rule_ = &rule;
  loop_ = loop;
  asks_for_round_ = false;
  for (const ir::NodeId id : positions_.graph().order()) {
    const ir::Node& node = positions_.graph().node(id);
    if (std::find(rule.ops.begin(), rule.ops.end(), node.op) == rule.ops.end() || !node.output(0).valid()) continue;
    node_ = id;
    rule.apply(*this, node);
  }
  return asks_for_round_;
}

const std::vector<PositionRule>& position_rules() {
  using config::Settings;
  static const std::vector<PositionRule> kRules = {
      {"align_concat", &Settings::Npu::align_concat, {"Concat"}, align_concat, kOneScale},
      {"align_pool",
       &Settings::Npu::align_pool,
       {"MaxPool", "AveragePool", "GlobalAveragePool"},
       align_input_with_output,
       kOneScale},
      {"align_pad", &Settings::Npu::align_pad, {"Pad"}, align_input_with_output, kOneScale},
      {"align_slice", &Settings::Npu::align_slice, {"Slice"}, align_input_with_output, kOneScale},
      {"adjust_shift_read", &Settings::Npu::adjust_shift_read, {"Add", "Sub"}, adjust_shift_read, kNarrowRanges},
      {"adjust_shift_write", &Settings::Npu::adjust_shift_write, {"Add", "Mul"}, adjust_shift_write, kNarrowRanges},
      {"adjust_shift_cut",
       &Settings::Npu::adjust_shift_cut,
       {"Conv", "Gemm"},
       adjust_shift_cut,
       "weights are too small or too large compared with the activations: equalize layers, or exclude the node"},
      {"adjust_shift_bias",
       &Settings::Npu::adjust_shift_bias,
       {"Conv", "Gemm"},
       adjust_shift_bias,
       "the bias is too small or too large compared with weights and input: equalize layers, or exclude the node"},
      {"adjust_hard_sigmoid",
       &Settings::Npu::adjust_hard_sigmoid,
       {"HardSigmoid"},
       adjust_hard_sigmoid,
       "quantize again: the positions around it can be moved"},
      {"adjust_shift_swish", &Settings::Npu::adjust_shift_swish, {"Mul"}, adjust_shift_swish, kNarrowRanges},
  };
  return kRules;
}

}  // namespace quarkq::planning

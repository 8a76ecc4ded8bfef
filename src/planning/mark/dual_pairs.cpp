// SPDX-License-Identifier: MIT
#include "planning/mark/dual_pairs.h"

#include <algorithm>
#include <set>

#include "config/format_settings.h"
#include "planning/passes.h"

namespace quarkq::planning {

namespace {

using plan::ExtraStage;
using plan::QuantSlot;
using plan::Stage;
using plan::StageKind;

/// The stage of an activation at one place of a node.
struct Place {
  QuantSlot* slot;
  int32_t index;
  bool is_after;
};

/// Block formats have numbers and texts only.
bool is_same_attribute(const ir::Attribute& a, const ir::Attribute& b) {
  const auto *number_a = std::get_if<int64_t>(&a.value), *number_b = std::get_if<int64_t>(&b.value);
  const auto *text_a = std::get_if<std::string>(&a.value), *text_b = std::get_if<std::string>(&b.value);
  if (a.name != b.name) return false;
  if (number_a != nullptr && number_b != nullptr) return *number_a == *number_b;
  return text_a != nullptr && text_b != nullptr && *text_a == *text_b;
}

bool is_same_block(const plan::BlockFormat& a, const plan::BlockFormat& b) {
  return a.op == b.op && std::equal(a.attributes.begin(), a.attributes.end(), b.attributes.begin(), b.attributes.end(),
                                    is_same_attribute);
}

bool is_same_format(const Stage& a, const Stage& b) {
  const bool is_block = a.kind == StageKind::kBlock;
  if (is_block != (b.kind == StageKind::kBlock)) return false;
  if (!is_block) return a.spec.type == b.spec.type;
  return is_same_block(*a.block, *b.block);
}

bool has_sign(ElementType type) {
  return !is_integer(type) || numeric::integer_range(type, numeric::RangeKind::kFull).min < 0;
}

class Finder {
 public:
  Finder(pass::PlanContext& context, const DualPairRules& rules) : context_(context), rules_(rules) {}

  void visit(const ir::Node& node) {
    const std::vector<Place> places = places_of(node);
    const bool wanted = rules_.is_special_node(node);
    const Place* model = nullptr;
    for (const Place& place : places) {
      if (rules_.is_special(place.slot->value) != wanted) continue;
      model = &place;
      break;
    }
    if (model == nullptr) return;
    const Stage wanted_stage = model->slot->stage;
    for (const Place& place : places) {
      if (!is_same_format(place.slot->stage, wanted_stage)) add(node, place, wanted_stage);
    }
  }

 private:
  std::vector<Place> places_of(const ir::Node& node) const {
    std::vector<Place> places;
    for (const bool is_after : {false, true}) {
      const auto& values = is_after ? node.outputs : node.inputs;
      for (size_t i = 0; i < values.size(); ++i) {
        if (QuantSlot* slot = stage_at(values[i])) places.push_back({slot, static_cast<int32_t>(i), is_after});
      }
    }
    return places;
  }

  QuantSlot* stage_at(ir::ValueId value) const {
    if (!value.valid() || context_.graph().value(value).is_initializer()) return nullptr;
    QuantSlot* slot = context_.plan.find(value);
    const bool has_stage = slot != nullptr && slot->role == plan::Role::kActivation &&
                           (rules_.counts_absorbed || slot->state != plan::SlotState::kAbsorbed);
    return has_stage ? slot : nullptr;
  }

  void add(const ir::Node& node, const Place& place, const Stage& stage) {
    ExtraStage extra{node.id, place.index, place.is_after, place.slot->value, stage};
    extra.stage.params = {};
    extra.stage.spec.symmetric = is_symmetric(stage.spec.type);
    extra.stage.spec.reduce_range = context_.settings.formats.reduce_range;
    context_.plan.extras.push_back(std::move(extra));
    if (place.slot->state == plan::SlotState::kAbsorbed) place.slot->state = plan::SlotState::kPlanned;
    if (stage.spec.needs_range()) place.slot->always_measured = true;
  }

  /// Returns the value in the settings, otherwise true for every signed type (ref:marking#second-stages).
  bool is_symmetric(ElementType type) const {
    const bool is_said = context_.settings.origins.contains("ActivationSymmetric");
    return is_said ? context_.settings.formats.activation_symmetric : has_sign(type);
  }

  pass::PlanContext& context_;
  const DualPairRules& rules_;
};

}  // namespace

void find_extra_stages(pass::PlanContext& context, const DualPairRules& rules) {
  Finder finder(context, rules);
  for (const ir::NodeId id : context.graph().order()) finder.visit(context.graph().node(id));
}

// EnableDualQuantNodePairs (ref:marking#second-stages): a node that settings of its own touch sees one format on all
// its activations.

namespace {

/// Returns the nodes selected by layer configs, the named nodes, and, together with layer configs, the readers of
/// tensors with user settings (ref:settings#layer-settings).
std::set<ir::NodeId> special_nodes(const pass::PlanContext& context) {
  const ir::Graph& graph = context.model.graph;
  const config::Settings& settings = context.settings;
  const auto& names = settings.algorithms.nodes_with_mixed_precision;
  std::set<ir::NodeId> nodes;
  for (const ir::NodeId id : graph.order()) {
    const ir::Node& node = graph.node(id);
    bool is_special =
        context.selection.layered.contains(node) || std::find(names.begin(), names.end(), node.name) != names.end();
    for (const ir::ValueId input : node.inputs) {
      if (settings.mode != config::QuantConfig::Mode::kLayers || !input.valid()) continue;
      const ir::Value& value = graph.value(input);
      is_special |= !value.is_initializer() && config::has_tensor_override(settings, value.name);
    }
    if (is_special) nodes.insert(id);
  }
  return nodes;
}

}  // namespace

Result<Changed> plan_dual_pairs(pass::PlanContext& context) {
  const std::set<ir::NodeId> nodes = special_nodes(context);
  DualPairRules rules;
  rules.is_special = [&](ir::ValueId value) { return context.selection.overrides.contains(value); };
  rules.is_special_node = [&](const ir::Node& node) { return nodes.empty() || nodes.contains(node.id); };
  rules.counts_absorbed = true;
  context.plan.extras.clear();
  find_extra_stages(context, rules);
  return context.plan.extras.empty() ? Changed::kNo : Changed::kYes;
}

}  // namespace quarkq::planning

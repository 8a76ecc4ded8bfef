// SPDX-License-Identifier: MIT
// Plans for tests of the passes between calibration and insertion: of the recorded graphs of golden/npu.json, and of
// the shared models with the scales that the reference recorded.
#pragma once

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "plan/constant_codes.h"
#include "support/golden_stages.h"
#include "support/pass_support.h"

namespace quarkq::test {

/// A file below golden/ of the shared folder; null when it is absent.
inline nlohmann::ordered_json golden_json(const std::string& file) {
  std::ifstream in(std::string(QUARKQ_SHARED_DIR) + "/golden/" + file);
  return in ? nlohmann::ordered_json::parse(in) : nlohmann::ordered_json();
}

inline config::Settings compat_settings(const std::string& preset, const std::vector<std::string>& sets = {}) {
  config::Settings settings = settings_for(preset, sets);
  settings.compat = true;
  return settings;
}

/// Runs the enabled passes of these phases, by the names of passes.def.
inline void run_phases(PassBench& bench, const std::vector<std::string>& phases) {
  for (const pass::PassInfo& pass : pipeline::all_passes()) {
    const bool is_chosen = std::find(phases.begin(), phases.end(), pass::name(pass.phase)) != phases.end();
    if (!is_chosen || !pass.enabled(bench.settings)) continue;
    const Result<Changed> changed = pipeline::run_pass(bench.context, pass.run);
    ASSERT_TRUE(changed.ok()) << pass.name << ": " << changed.status().message();
  }
}

/// A shared model up to the plan without parameters.
struct PlannedModel : PassBench {
  PlannedModel(const std::string& model, const config::Settings& settings) : PassBench(shared_model(model), settings) {
    run_phases(*this, {"select", "prepare", "equalize", "adapt", "mark"});
  }
  const plan::QuantPlan& plan() const { return context.plan; }
};

/// What the goldens call a tensor in front of its pair.
inline std::string golden_name(const ir::Value& value) {
  return value.is_output ? value.name + "_QuantizeLinear_Input" : value.name;
}

/// What the goldens call a tensor: an activation's name, a constant's place "<output of its reader>:<input>".
inline std::vector<std::string> golden_keys(const ir::Graph& graph, ir::ValueId id) {
  const ir::Value& value = graph.value(id);
  if (!value.is_initializer()) return {golden_name(value)};
  std::vector<std::string> keys;
  for (const ir::Use& use : value.uses) {
    if (!use.is_capture) {
      keys.push_back(cat(golden_name(graph.value(graph.node(use.node).outputs[0])), ":", use.input));
    }
  }
  return keys;
}

/// Gives every slot the recorded position; names of slots without one.
inline std::vector<std::string> set_positions(const ir::Graph& graph, plan::QuantPlan& plan,
                                              const std::map<std::string, int>& positions) {
  std::vector<std::string> unknown;
  for (const plan::QuantSlot& slot : plan.slots()) {
    bool is_known = false;
    for (const std::string& key : golden_keys(graph, slot.value)) {
      const auto found = positions.find(key);
      if (found == positions.end()) continue;
      is_known = true;
      plan.params.set(slot.stage.params, {{numeric::scale_of_position(found->second), 0}});
    }
    if (!is_known && slot.state != plan::SlotState::kAbsorbed) unknown.push_back(graph.value(slot.value).name);
  }
  return unknown;
}

/// Positions by golden key, of what has a pair or is stored.
inline std::map<std::string, int> positions_of(const ir::Graph& graph, const plan::QuantPlan& plan,
                                               const std::map<std::string, int>& keys) {
  std::map<std::string, int> positions;
  for (const plan::QuantSlot& slot : plan.slots()) {
    if (slot.state == plan::SlotState::kAbsorbed || plan.params[slot.stage.params].empty()) continue;
    for (const std::string& key : golden_keys(graph, slot.value)) {
      if (!keys.contains(key)) continue;
      positions[key] = numeric::power_of_two_position(plan.params[slot.stage.params][0].scale);
    }
  }
  return positions;
}

/// Scale 1 and integers 0 for slots that have none, so that a plan can be written.
inline void fill_parameters(const ir::Graph& graph, plan::QuantPlan& plan) {
  for (plan::QuantSlot& slot : plan.slots()) {
    const plan::Stage& stage = slot.stage;
    const auto& constant = graph.value(slot.value).constant;
    if (plan.params[stage.params].empty()) {
      const auto channels = stage.spec.per_channel ? constant->dims()[static_cast<size_t>(stage.spec.axis)] : 1;
      plan.params.set(stage.params, plan::ParamList(static_cast<size_t>(channels), {1.0f, 0}));
    }
    if (constant && slot.role != plan::Role::kActivation) {
      const std::vector<int32_t> zeros(static_cast<size_t>(constant->size()), 0);
      slot.codes = plan::store_codes(zeros, stage.spec.type, constant->dims());
    }
  }
}

}  // namespace quarkq::test

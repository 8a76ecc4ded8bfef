// SPDX-License-Identifier: MIT
#include "pipeline/decisions.h"

#include <algorithm>
#include <map>

#include "pipeline/facts.h"

namespace quarkq::pipeline {
namespace {

std::string outcome_of(const plan::QuantPlan& plan, ir::ValueId value) {
  const plan::QuantSlot* slot = plan.find(value);
  if (slot == nullptr) return "float";
  if (slot->state == plan::SlotState::kAbsorbed) return "absorbed";
  return cat(role_name(slot->role), " ", stage_name(slot->stage));
}

/// A tensor with several readers is decided about several times.
void add_step(const ir::Graph& graph, const plan::Decision& decision, ExplainedTensor& tensor) {
  std::string text = plan::text(decision, graph);
  const bool is_known =
      std::any_of(tensor.steps.begin(), tensor.steps.end(), [&](const ExplainStep& step) { return step.text == text; });
  if (!is_known) tensor.steps.push_back({plan::rule_name(decision.kind), std::move(text)});
}

bool is_in(const ir::Graph& graph, ir::ValueId value) {
  return static_cast<size_t>(value.index) < graph.value_count() && graph.is_alive(value);
}

/// Nodes that phase restructure made are not in earlier graphs.
bool is_known(const ir::Graph& graph, const plan::Decision& decision) {
  const bool has_node = !decision.node.valid() || static_cast<size_t>(decision.node.index) < graph.node_count();
  return is_in(graph, decision.value) && has_node && (!decision.other.valid() || is_in(graph, decision.other));
}

}  // namespace

ExplainedTensor explain_value(const ir::Graph& graph, const plan::QuantPlan& plan, ir::ValueId value) {
  ExplainedTensor tensor{graph.value(value).name, outcome_of(plan, value), {}};
  for (const plan::Decision& decision : plan.decisions) {
    if (decision.value == value && is_known(graph, decision)) add_step(graph, decision, tensor);
  }
  return tensor;
}

std::vector<ExplainedTensor> explain_all(const ir::Graph& graph, const plan::QuantPlan& plan) {
  std::map<ir::ValueId, ExplainedTensor> tensors;
  for (const plan::Decision& decision : plan.decisions) {
    if (!is_known(graph, decision)) continue;
    const auto [place, is_new] = tensors.try_emplace(decision.value);
    if (is_new) place->second = {graph.value(decision.value).name, outcome_of(plan, decision.value), {}};
    add_step(graph, decision, place->second);
  }
  std::vector<ExplainedTensor> all;
  for (auto& [value, tensor] : tensors) all.push_back(std::move(tensor));
  return all;
}

Json explained_json(const std::vector<ExplainedTensor>& tensors) {
  Json rows = Json::array();
  for (const ExplainedTensor& tensor : tensors) {
    Json steps = Json::array();
    for (const ExplainStep& step : tensor.steps) steps.push_back({{"rule", step.rule}, {"text", step.text}});
    rows.push_back({{"name", tensor.name}, {"outcome", tensor.outcome}, {"steps", std::move(steps)}});
  }
  return rows;
}

}  // namespace quarkq::pipeline

// SPDX-License-Identifier: MIT
#include "pipeline/facts.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "ir/quantizing_ops.h"
#include "ir/search.h"
#include "plan/block_name.h"

namespace quarkq::pipeline {
namespace {

std::string full_op_name(const ir::Node& node) { return node.domain.empty() ? node.op : node.domain + "::" + node.op; }

}  // namespace

config::ModelFacts model_facts(const ir::Model& model) {
  config::ModelFacts facts;
  facts.opset = static_cast<int>(model.opset());
  bool has_float = false, has_half = false;
  auto look = [&](ir::ValueId id) {
    const ElementType type = model.graph.value(id).type.element;
    has_float = has_float || type == ElementType::kFloat;
    has_half = has_half || type == ElementType::kFloat16;
  };
  for (const ir::ValueId id : model.graph.inputs()) look(id);
  for (const ir::ValueId id : model.graph.outputs()) look(id);
  for (const ir::ValueId id : model.graph.initializers()) look(id);
  facts.all_float16 = has_half && !has_float;
  for (const auto& [op, count] : count_ops(model.graph)) facts.op_types.push_back(op);
  return facts;
}

std::map<std::string, int> count_ops(const ir::Graph& graph) {
  std::map<std::string, int> counts;
  for (const ir::NodeId id : graph.order()) ++counts[full_op_name(graph.node(id))];
  return counts;
}

std::map<std::string, int> count_quantizing_ops(const ir::Graph& graph) {
  std::map<std::string, int> counts;
  for (const ir::NodeId id : graph.order()) {
    const ir::Node& node = graph.node(id);
    if (ir::quantizing_part(&node) != ir::QuantizingPart::kNone) ++counts[full_op_name(node)];
    for (const ir::Graph* nested : ir::nested_graphs(node)) {
      for (const auto& [op, count] : count_quantizing_ops(*nested)) counts[op] += count;
    }
  }
  return counts;
}

const char* role_name(plan::Role role) {
  static constexpr const char* kRoles[] = {"activation", "weight", "bias"};
  return kRoles[static_cast<int>(role)];
}

std::string stage_name(const plan::Stage& stage) {
  return stage.block ? plan::block_name(stage.block->op, stage.block->attributes) : std::string(name(stage.spec.type));
}

void count_tensors(const plan::QuantPlan& plan, QuantizeReport& report) {
  for (const plan::QuantSlot& slot : plan.slots()) {
    if (slot.state == plan::SlotState::kAbsorbed) continue;
    ++report.tensors_by_type[cat(role_name(slot.role), " ", stage_name(slot.stage))];
  }
}

std::vector<Finding> findings_of(const Diagnostics& diagnostics) {
  std::vector<Finding> findings;
  for (const Diagnostic& finding : diagnostics.all()) {
    findings.push_back({finding.severity == Severity::kWarning, finding.id, finding.subject, finding.text});
  }
  return findings;
}

size_t count_quantized(const RunState& state, const ir::Graph& calibrated) {
  std::set<ir::NodeId> loaded;
  for (const ir::NodeId id : calibrated.order()) {
    const ir::Node& node = calibrated.node(id);
    if (state.settings.inserts_qdq() ? state.selection.selects(node) : !state.graph().is_alive(id))
      loaded.insert(node.origins.begin(), node.origins.end());
  }
  return loaded.size();
}

uint64_t file_size(const std::string& path) {
  std::error_code error;
  const auto size = std::filesystem::file_size(path, error);
  return error ? 0 : static_cast<uint64_t>(size);
}

}  // namespace quarkq::pipeline

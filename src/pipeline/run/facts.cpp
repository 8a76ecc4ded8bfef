// SPDX-License-Identifier: MIT
#include "pipeline/run/facts.h"

#include <algorithm>
#include <set>

#include "base/platform/files.h"
#include "ir/quantizing_ops.h"
#include "ir/traversal.h"
#include "pass/pass_info.h"
#include "plan/stage.h"

namespace quarkq::pipeline {

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
  for (const ir::NodeId id : graph.order()) ++counts[ir::full_op_name(graph.node(id))];
  return counts;
}

std::map<std::string, int> count_quantizing_ops(const ir::Graph& graph) {
  std::map<std::string, int> counts;
  for (const ir::NodeId id : graph.order()) {
    const ir::Node& node = graph.node(id);
    if (ir::quantizing_part(&node) != ir::QuantizingPart::kNone) ++counts[ir::full_op_name(node)];
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

Finding finding(DiagnosticId id, std::string subject, std::string text) {
  return {id.row().severity == Severity::kWarning, std::string(id.row().id), std::move(subject), std::move(text)};
}

std::vector<Finding> findings_of(const Diagnostics& diagnostics, const LoadedLabels& labels) {
  std::vector<Finding> findings;
  for (const Diagnostic& finding : diagnostics.all()) {
    findings.push_back({finding.severity == Severity::kWarning, finding.id, labels.translated(finding.subject),
                        labels.translated(finding.text)});
  }
  return findings;
}

void count_nodes(const RunState& state, const ir::Graph& loaded, const ir::Graph& calibrated, QuantizeReport& report) {
  std::set<ir::NodeId> quantized, computed;
  for (const ir::NodeId id : calibrated.order()) {
    const ir::Node& node = calibrated.node(id);
    computed.insert(node.origins.begin(), node.origins.end());
    if (state.settings.inserts_qdq() ? state.selection.selects(node) : !state.graph().is_alive(id))
      quantized.insert(node.origins.begin(), node.origins.end());
  }
  for (const ir::NodeId id : loaded.order()) {
    if (loaded.node(id).is("Constant")) continue;
    OperatorCount& row = report.operators[ir::full_op_name(loaded.node(id))];
    ++row.total;
    ++report.nodes_total;
    report.nodes_folded += computed.contains(id) ? 0 : 1;
    if (!quantized.contains(id)) continue;
    ++row.quantized;
    ++report.nodes_quantized;
  }
}

std::string loaded_label(const ir::Graph& loaded, const ir::Graph& graph, ir::NodeId id) {
  const ir::Node& node = graph.node(id);
  for (const ir::NodeId origin : node.origins) {
    if (loaded.node(origin).op == node.op) return loaded.label(origin);
  }
  return node.origins.empty() ? graph.label(id) : loaded.label(node.origins.front());
}

void LoadedLabels::add(const ir::Graph& loaded, const ir::Graph& graph) {
  for (const ir::NodeId id : graph.order()) {
    std::string label = graph.label(id), as_loaded = loaded_label(loaded, graph, id);
    if (label != as_loaded) labels_.emplace(std::move(label), std::move(as_loaded));
  }
}

std::string LoadedLabels::translated(const std::string& text) const {
  std::string result = text;
  for (size_t at = labels_.empty() ? std::string::npos : result.find("node "); at != std::string::npos;
       at = result.find("node ", at + 1)) {
    for (size_t end = result.find(')', at); end != std::string::npos; end = result.find(')', end + 1)) {
      const auto found = labels_.find(result.substr(at, end + 1 - at));
      if (found == labels_.end()) continue;
      result.replace(at, end + 1 - at, found->second);
      break;
    }
  }
  return result;
}

Progress progress_of(const std::string& phase, size_t done, size_t total, const config::Settings& settings) {
  constexpr auto kLast = static_cast<size_t>(pass::Phase::kLegalize);
  Progress progress{phase, done, total};
  for (size_t i = 0; i <= kLast; ++i) {
    if (phase == pass::name(static_cast<pass::Phase>(i))) progress.number = i + 1;
  }
  if (phase == "verify") progress.number = kLast + 2;
  if (progress.number > 0) progress.count = kLast + 2;
  if (phase == "rescue") progress.unit = "trials";
  if (phase == pass::name(pass::Phase::kTune) && settings.algorithms.include_fast_ft) progress.unit = "layers";
  return progress;
}

uint64_t file_size(const std::string& path) {
  const auto file = platform::describe(path);
  return file && file->kind == platform::FileKind::kFile ? file->bytes : 0;
}

}  // namespace quarkq::pipeline

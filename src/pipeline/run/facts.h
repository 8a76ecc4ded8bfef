// SPDX-License-Identifier: MIT
// Small facts about models and runs that settings and reports need.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "calib/data_reader.h"
#include "config/resolve.h"
#include "pipeline/run/run_state.h"
#include "quarkq/quantize.h"

namespace quarkq::pipeline {

config::ModelFacts model_facts(const ir::Model& model);
/// Returns the requested target, otherwise the compiler of the preset; an empty string if neither is set.
std::string target_of(const config::Settings& settings);
/// Returns the number of nodes per operator; other domains as "domain::Op".
std::map<std::string, int> count_ops(const ir::Graph& graph);
/// Returns the number of quantizing nodes (ir/quantizing_ops.h), including nested graphs, per operator as above.
std::map<std::string, int> count_quantizing_ops(const ir::Graph& graph);
/// Returns "activation", "weight" or "bias".
const char* role_name(plan::Role role);
/// Returns the format of a stage: "INT8", "BFP16".
std::string stage_name(const plan::Stage& stage);
/// Fills tensors_by_type.
void count_tensors(const plan::QuantPlan& plan, QuantizeReport& report);
/// Returns "node conv1 (Conv)" for the loaded model: the loaded node of the same operator that `id` replaces, otherwise
/// the first one. A node without origins keeps its own label.
std::string loaded_label(const ir::Graph& loaded, const ir::Graph& graph, ir::NodeId id);
/// Replaces labels of the nodes of `graph` in findings by labels of the loaded model.
class LoadedLabels {
 public:
  void add(const ir::Graph& loaded, const ir::Graph& graph);
  std::string translated(const std::string& text) const;

 private:
  std::map<std::string, std::string> labels_;
};
/// Returns a finding in the format of reports.
Finding finding(DiagnosticId id, std::string subject, std::string text);
/// Returns all findings.
std::vector<Finding> findings_of(const Diagnostics& diagnostics, const LoadedLabels& labels = {});
/// Fills in nodes_quantized, nodes_total and operators for the nodes of `loaded`. A loaded node is quantized if a
/// selected node of `calibrated`, the float model before Q/DQ nodes, replaces it, or if an emitter replaced it.
void count_nodes(const RunState& state, const ir::Graph& loaded, const ir::Graph& calibrated, QuantizeReport& report);
/// Returns the progress of a phase of quantize(): its number among all phases, and its counter. "verify" is the last
/// one; work between two phases has no number.
Progress progress_of(const std::string& phase, size_t done, size_t total, const config::Settings& settings);
/// Returns the size of a file, or 0 if it cannot be read.
uint64_t file_size(const std::string& path);

}  // namespace quarkq::pipeline

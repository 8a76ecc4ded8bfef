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
/// Operator -> nodes; other domains as "domain::Op".
std::map<std::string, int> count_ops(const ir::Graph& graph);
/// The nodes that quantize (ir/quantizing_ops.h), those of nested graphs included, by operator as above.
std::map<std::string, int> count_quantizing_ops(const ir::Graph& graph);
/// "activation", "weight", "bias".
const char* role_name(plan::Role role);
/// The format of a stage: "INT8", "BFP16".
std::string stage_name(const plan::Stage& stage);
/// Fills tensors_by_type.
void count_tensors(const plan::QuantPlan& plan, QuantizeReport& report);
/// "node conv1 (Conv)" of the model as loaded: the node of the same operator that `id` stands for, else the first one;
/// a node that stands for none keeps its own label.
std::string loaded_label(const ir::Graph& loaded, const ir::Graph& graph, ir::NodeId id);
/// Replaces labels of the nodes of `graph` in findings by those of the model as loaded.
class LoadedLabels {
 public:
  void add(const ir::Graph& loaded, const ir::Graph& graph);
  std::string translated(const std::string& text) const;

 private:
  std::map<std::string, std::string> labels_;
};
/// A finding in the form of reports.
Finding finding(DiagnosticId id, std::string subject, std::string text);
/// All of them.
std::vector<Finding> findings_of(const Diagnostics& diagnostics, const LoadedLabels& labels = {});
/// Fills in nodes_quantized, nodes_total and operators: nodes of `loaded`. Quantized are those that a selected node of
/// `calibrated`, the float model before Q/DQ nodes came, stands for, or one that an emitter replaced.
void count_nodes(const RunState& state, const ir::Graph& loaded, const ir::Graph& calibrated, QuantizeReport& report);
/// How far a phase of quantize() is: its place among all, and what it counts. "verify" is the last one; work
/// between two phases has no number.
Progress progress_of(const std::string& phase, size_t done, size_t total, const config::Settings& settings);
/// Bytes of a file, 0 when it cannot be asked.
uint64_t file_size(const std::string& path);

}  // namespace quarkq::pipeline

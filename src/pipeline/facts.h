// SPDX-License-Identifier: MIT
// Small facts about models and runs that settings and reports need.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "calib/data_reader.h"
#include "config/resolve.h"
#include "pipeline/run_state.h"
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
/// Findings in the form of reports.
std::vector<Finding> findings_of(const Diagnostics& diagnostics);
/// Nodes of the model as loaded that are quantized: they stand behind a selected node of `calibrated`, the float model
/// before Q/DQ nodes came, or behind one that an emitter replaced.
size_t count_quantized(const RunState& state, const ir::Graph& calibrated);
/// Bytes of a file, 0 when it cannot be asked.
uint64_t file_size(const std::string& path);
/// RandomDataReaderInputShape and ...DataRange in typed form.

}  // namespace quarkq::pipeline

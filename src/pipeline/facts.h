// SPDX-License-Identifier: MIT
// Small facts about models and runs that settings and reports need.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "calib/data_reader.h"
#include "config/resolve.h"
#include "passes/context.h"
#include "quarkq/quantize.h"

namespace quarkq::pipeline {

config::ModelFacts model_facts(const ir::Model& model);
/// Operator -> nodes; other domains as "domain::Op".
std::map<std::string, int> count_ops(const ir::Graph& graph);
/// Fills tensors_by_type.
void count_tensors(const plan::QuantPlan& plan, QuantizeReport& report);
/// Findings in the form of reports.
std::vector<Finding> findings_of(const Diagnostics& diagnostics);
size_t count_selected(const passes::PassContext& context);
/// Bytes of a file, 0 when it cannot be asked.
uint64_t file_size(const std::string& path);
/// RandomDataReaderInputShape and ...DataRange in typed form.
Result<calib::RandomDataOptions> random_data_options(const config::Settings& settings);

}  // namespace quarkq::pipeline

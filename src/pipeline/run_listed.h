// SPDX-License-Identifier: MIT
// Lists of passes (config/listed_passes.h) on a model.
#pragma once

#include <vector>

#include "config/pass_list.h"
#include "pipeline/conversion_table.h"

namespace quarkq::pipeline {

/// The steps of a list, in its order. kInvalidArgument, with the line, for what there is not.
Result<std::vector<ConversionStep>> steps_of(const std::vector<config::ListedPass>& passes, Diagnostics& diagnostics);

/// Runs the list on the model, each conversion with its checks (conversion_run.h).
Status run_listed(const std::vector<config::ListedPass>& passes, ir::Model& model, Diagnostics& diagnostics);

}  // namespace quarkq::pipeline

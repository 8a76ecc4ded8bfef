// SPDX-License-Identifier: MIT
// Models with states: an output of one call is an input of the next, so that errors add up over the frames of a stream.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "calib/data_reader.h"
#include "compare/run_models.h"
#include "exec/environment.h"
#include "ir/graph.h"
#include "quarkq/quantize_report.h"

namespace quarkq::compare {

/// Positions among the required inputs and the outputs of a graph.
struct StatePair {
  size_t input = 0, output = 0;
  bool operator==(const StatePair&) const = default;
};

/// Returns the inputs that have exactly one output of the same type whose name begins or ends with their own, without
/// regard to case: state and stateN, cache and cache_out, h and new_h. Known dimensions must be equal.
std::vector<StatePair> states_of(const ir::Graph& graph);

/// Runs both models on the chosen samples one after the other, as frames of a stream, and feeds the states of each
/// model back. Returns the agreement of each other floating-point output over all frames, by name. Returns an empty map
/// without states, or if the dimensions of a state change. `prepare` is applied to copies of both models.
Result<std::map<std::string, Agreement>> compare_fed_back(const ir::Model& reference, const ir::Model& quantized,
                                                          Prepare prepare, const ChosenSamples& frames);

}  // namespace quarkq::compare

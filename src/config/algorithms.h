// SPDX-License-Identifier: MIT
// The algorithms that algo_config may list, and the key of extra_options for each of their parameters
// (ref:settings#algorithms).
#pragma once

#include <string>
#include <vector>

namespace quarkq::config {

struct AlgorithmInfo {
  const char* name;    ///< "adaround"
  const char* flag;    ///< the include_ field or the option that it switches on
  const char* option;  ///< the map option that takes the parameters; "" when each has an option of its own
};

/// One parameter. `by_default` is the value that listing the algorithm writes; "" writes nothing.
struct AlgorithmParam {
  const char* algorithm;
  const char* name;        ///< in algo_config: "num_iterations"
  const char* key;         ///< in extra_options: "NumIterations"
  const char* by_default;  ///< YAML
};

const std::vector<AlgorithmInfo>& algorithms();
const AlgorithmInfo* find_algorithm(const std::string& name);
/// The parameters of one algorithm, or an empty list.
std::vector<AlgorithmParam> algorithm_params(const std::string& name);

}  // namespace quarkq::config

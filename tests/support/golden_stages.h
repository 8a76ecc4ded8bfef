// SPDX-License-Identifier: MIT
// The float model after each preprocessing step of the reference, as recorded in golden/<model>/stages_<case>.json of
// the shared folder, and a comparison of an ir::Graph with such a stage. Tests skip where the folder is absent.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "ir/graph.h"

namespace quarkq::test {

struct GoldenNode {
  std::string op;  ///< "Conv", or "domain::Op"
  std::string name;
  std::vector<std::string> inputs, outputs;
  nlohmann::ordered_json attributes;  ///< name -> value as recorded; tensors as [type, dims, min, max, sum]
};

/// A stage with everything filled in that its record leaves to the stages before.
struct GoldenStage {
  std::string name;
  bool failed = false;                                         ///< the reference stopped here
  std::vector<GoldenNode> nodes;                               ///< in list order
  std::map<std::string, nlohmann::ordered_json> initializers;  ///< name -> [type, dims, min, max, sum]
  std::vector<std::string> inputs, outputs;                    ///< of the graph
};

/// All stages of one model and case ("A8W8") in order; empty when there is no such record.
std::vector<GoldenStage> golden_stages(const std::string& model, const std::string& case_name);
/// The stage of this name; QQ_CHECKs that there is one.
const GoldenStage& stage_named(const std::vector<GoldenStage>& stages, const std::string& name);
bool has_stage(const std::vector<GoldenStage>& stages, const std::string& name);
/// Models that have a record for this case, by name; empty without the shared folder.
std::vector<std::string> models_with_stages(const std::string& case_name);
/// models/<name>.onnx of the shared folder, types inferred: what the stage "input" shows.
ir::Model shared_model(const std::string& name);

struct CompareStage {
  bool node_names = true;
  bool order = true;
  bool attributes = true;
  bool constant_names = true;  ///< false: stored tensors are compared by type, dims and values only
  double tolerance = 1e-6;     ///< of stored values, relative to the largest magnitude
};

/// One line per difference, nodes matched by their first output; empty when the graph is as recorded.
std::vector<std::string> differences(const ir::Graph& graph, const GoldenStage& stage, const CompareStage& what = {});

}  // namespace quarkq::test

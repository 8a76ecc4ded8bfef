// SPDX-License-Identifier: MIT
// THE table operator x registry -> rule: which tensors of a node are marked (ref:marking#op-rules). An operator without
// a row gets the generic rule: all inputs, all outputs.
#pragma once

#include <string>
#include <vector>

#include "plan/marker.h"

namespace quarkq::plan {

/// Marks the tensors of `node` that are to be quantized.
using OpRule = void (*)(Marker&, const ir::Node&);

struct OpRuleRow {
  const char* op;
  OpRule cpu;                                       ///< QDQ registry; null: the generic rule
  OpRule npu;                                       ///< NPU-CNN registry; null: as cpu
  bool in_cpu_set, in_npu_set, in_transformer_set;  ///< member of the default op set
  const char* summary;
};

const std::vector<OpRuleRow>& op_rules();
OpRule rule_for(const std::string& op, config::Registry registry);

/// Default op set of the settings (ref:marking#op-sets), with the user's lists applied. `model_ops` are those of the
/// model as loaded.
std::set<std::string, std::less<>> op_set(const config::Settings& settings, const std::vector<std::string>& model_ops);

}  // namespace quarkq::plan

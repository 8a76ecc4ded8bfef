// SPDX-License-Identifier: MIT
// Operators without a kernel in ONNX Runtime become what their definition says, after all other steps.
#include <map>

#include "rewrite/optimize/inline_group_norm.h"
#include "rewrite/optimize/steps.h"

namespace quarkq::rewrite::basic {
namespace {

struct Definition {
  struct Step {
    const char* op;
    const char* inner;                ///< name of the output inside the definition; null: the node's output
    std::vector<const char*> inputs;  ///< names of earlier steps; "X": the node's input
    std::vector<ir::Attribute> attributes;
  };
  const char* op;
  std::vector<Step> steps;
};

const std::vector<Definition>& definitions() {
  static const std::vector<Definition> all{
      {"HardSwish",
       {{"HardSigmoid", "HS_X", {"X"}, {{"alpha", 1.0f / 6.0f, {}, {}}, {"beta", 0.5f, {}, {}}}},
        {"Mul", nullptr, {"X", "HS_X"}, {}}}},
      {"Mish",
       {{"Softplus", "Softplus_X", {"X"}, {}},
        {"Tanh", "TanHSoftplusX", {"Softplus_X"}, {}},
        {"Mul", nullptr, {"X", "TanHSoftplusX"}, {}}}},
  };
  return all;
}

void inline_node(Workspace& work, ir::NodeId id, const Definition& definition) {
  const std::string prefix = work.new_tensor_name(cat("_inlfunc_", definition.op));
  const ir::ValueId output = work.node(id).outputs[0];
  const ir::ValueType type = work.graph().value(output).type;
  std::map<std::string, ir::ValueId> made{{"X", work.node(id).input(0)}};
  for (const Definition::Step& step : definition.steps) {
    std::vector<ir::ValueId> inputs;
    for (const char* input : step.inputs) inputs.push_back(made.at(input));
    if (step.inner == nullptr) {
      work.add_unnamed(step.op, std::move(inputs), step.attributes, id, output);
    } else {
      const ir::ValueId value = work.add_value(work.new_tensor_name(cat(prefix, "_", step.inner)), type);
      work.add_unnamed(step.op, std::move(inputs), step.attributes, id, value);
      made[step.inner] = value;
    }
  }
  work.remove_node(id);
}

}  // namespace

Result<bool> inline_operators(Workspace& work) {
  bool changed = false;
  for (const ir::NodeId id : work.numbered_order()) {
    for (const Definition& definition : definitions()) {
      if (!work.node(id).is(definition.op)) continue;
      inline_node(work, id, definition);
      changed = true;
      break;
    }
    if (work.graph().is_alive(id)) changed |= inline_group_norm(work, id);
  }
  return changed;
}

}  // namespace quarkq::rewrite::basic

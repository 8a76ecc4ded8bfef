// SPDX-License-Identifier: MIT
// Replaces operators without a kernel in ONNX Runtime by their definition, after all other steps.
#include <map>

#include "rewrite/optimize/workspace.h"

namespace quarkq::rewrite::basic {
namespace {

// GroupNormalization, which ONNX Runtime has no kernel for, as the operators of its definition.

/// True when `node` was one and is gone. Only in compat mode: thirty operators with a pair between each two are worse
/// than one.
bool inline_group_norm(Workspace& work, ir::NodeId node);

constexpr int64_t kFirstOpset = 21;  // scale and bias per channel

/// One operator of the definition; its attributes are integers.
struct Step {
  const char* op;
  const char* output;
  std::vector<const char*> inputs;
  std::vector<std::pair<const char*, int64_t>> attributes = {};
};

/// The names of the definition, which appear in the results.
const std::vector<Step>& steps() {
  static const std::vector<Step> all = {
      {"Cast", "Epsilon", {"FloatEpsilon"}, {{"to", 1}}},
      {"Cast", "XU", {"X"}, {{"to", 1}}},
      {"Shape", "XShape", {"XU"}},
      {"Shape", "C", {"X"}, {{"start", 1}, {"end", 2}}},
      {"Div", "GroupSize", {"C", "NumGroups"}},
      {"Shape", "N", {"X"}, {{"start", 0}, {"end", 1}}},
      {"Shape", "InstanceShape", {"X"}, {{"start", 2}}},
      {"Concat", "NewShape", {"N", "NumGroups", "GroupSize", "InstanceShape"}, {{"axis", 0}}},
      {"Reshape", "XReshaped", {"XU", "NewShape"}},
      {"Reshape", "X3D", {"XReshaped", "Shape3D"}},
      {"ReduceMean", "Mean", {"X3D", "Axes2"}},
      {"Mul", "Square", {"X3D", "X3D"}},
      {"ReduceMean", "MeanOfSquare", {"Square", "Axes2"}},
      {"Mul", "SquareOfMean", {"Mean", "Mean"}},
      {"Sub", "Var", {"MeanOfSquare", "SquareOfMean"}},
      {"Add", "VarPlusEpsilon", {"Var", "Epsilon"}},
      {"Sqrt", "StdDev", {"VarPlusEpsilon"}},
      {"Sub", "Deviation", {"X3D", "Mean"}},
      {"Div", "NormalizedU", {"Deviation", "StdDev"}},
      {"Reshape", "NormalizedOriginalShape", {"NormalizedU", "XShape"}},
      {"Reshape", "NormalizedNC", {"NormalizedOriginalShape", "Shape3D"}},
      {"Cast", "NormalizedT", {"NormalizedNC"}, {{"to", 1}}},
      {"Cast", "ScaleT", {"scale"}, {{"to", 1}}},
      {"Cast", "BiasT", {"bias"}, {{"to", 1}}},
      {"Reshape", "ScaleReshaped", {"ScaleT", "ScaleShape"}},
      {"Reshape", "BiasReshaped", {"BiasT", "ScaleShape"}},
      {"Mul", "Scaled", {"ScaleReshaped", "NormalizedT"}},
      {"Add", "Biased", {"Scaled", "BiasReshaped"}},
      {"Reshape", "Y", {"Biased", "XShape"}},
  };
  return all;
}

bool is_wanted(const Workspace& work, const ir::Node& node) {
  return !work.settings().quirk(config::Quirk::kKeepGroupNormalization) && node.is("GroupNormalization") &&
         work.opset() >= kFirstOpset && node.int_or("stash_type", 1) == 1 && node.input(2).valid() &&
         work.graph().value(node.inputs[0]).type.element == ElementType::kFloat;
}

bool inline_group_norm(Workspace& work, ir::NodeId id) {
  const ir::Node node = work.node(id);
  if (!is_wanted(work, node)) return false;
  const std::string prefix = work.new_tensor_name("_inlfunc_GroupNormalization");
  const auto name = [&](const char* inner) { return cat(prefix, "_", inner); };
  std::map<std::string, ir::ValueId> made = {{"X", node.input(0)}, {"scale", node.input(1)}, {"bias", node.input(2)}};
  const auto add_integers = [&](const char* inner, const std::vector<int64_t>& numbers) {
    const ir::Shape dims = {static_cast<int64_t>(numbers.size())};
    made[inner] = work.add_constant(name(inner), ir::Tensor::from<int64_t>(dims, numbers));
  };
  made["FloatEpsilon"] =
      work.add_constant(name("FloatEpsilon"), ir::Tensor::from<float>({1}, {node.float_or("epsilon", 1e-5f)}));
  add_integers("NumGroups", {node.int_or("num_groups", 1)});
  add_integers("Shape3D", {0, 0, -1});
  add_integers("Axes2", {2});
  add_integers("ScaleShape", {1, -1, 1});
  for (const Step& step : steps()) {
    std::vector<ir::ValueId> inputs;
    std::vector<ir::Attribute> attributes;
    for (const char* input : step.inputs) inputs.push_back(made.at(input));
    for (const auto& [key, number] : step.attributes) attributes.push_back({key, number, {}, {}});
    const bool is_last = &step == &steps().back();
    const ir::ValueId output = is_last ? node.output(0) : work.add_value(work.new_tensor_name(name(step.output)), {});
    work.add_unnamed(step.op, std::move(inputs), std::move(attributes), id, output);
    made[step.output] = output;
  }
  work.remove_node(id);
  return true;
}

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

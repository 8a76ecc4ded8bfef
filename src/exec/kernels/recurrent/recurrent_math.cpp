// SPDX-License-Identifier: MIT
// Reads which functions the gates of a recurrent cell use.

#include "exec/kernels/recurrent/recurrent.h"

namespace quarkq::exec {
namespace {

struct FunctionRow {
  std::string_view name;
  GateFunction function;
  int arguments;      ///< 0: none, 1: alpha, 2: alpha and beta
  float alpha, beta;  ///< when the node states none: what ONNX Runtime takes
};
constexpr FunctionRow kFunctions[] = {
    {"Affine", GateFunction::kAffine, 2, 0.0f, 0.0f},
    {"Elu", GateFunction::kElu, 1, 1.0f, 0.0f},
    {"HardSigmoid", GateFunction::kHardSigmoid, 2, 0.2f, 0.5f},
    {"LeakyRelu", GateFunction::kLeakyRelu, 1, 0.01f, 0.0f},
    {"Relu", GateFunction::kRelu, 0, 0.0f, 0.0f},
    {"ScaledTanh", GateFunction::kScaledTanh, 2, 0.0f, 0.0f},
    {"Sigmoid", GateFunction::kSigmoid, 0, 0.0f, 0.0f},
    {"Softplus", GateFunction::kSoftplus, 0, 0.0f, 0.0f},
    {"Softsign", GateFunction::kSoftsign, 0, 0.0f, 0.0f},
    {"Tanh", GateFunction::kTanh, 0, 0.0f, 0.0f},
    {"ThresholdedRelu", GateFunction::kThresholdedRelu, 1, 0.0f, 0.0f},
};

bool same_word(std::string_view a, std::string_view b) {  // the definition calls the names case insensitive
  return lower_case(a) == lower_case(b);
}

/// The arguments stated, handed out in order to the functions that take some.
struct Arguments {
  std::vector<float> values;
  size_t next = 0;
  float take(float fallback) { return next < values.size() ? values[next++] : fallback; }
};

Arguments read_arguments(const Prepare& p, std::string_view attribute) {
  const auto* values = p.node().get<std::vector<float>>(attribute);
  return {values == nullptr ? std::vector<float>() : *values, 0};
}

std::vector<std::string> default_names(Cell cell) {
  switch (cell) {
    case Cell::kLstm: return {"Sigmoid", "Tanh", "Tanh"};
    case Cell::kGru: return {"Sigmoid", "Tanh"};
    default: return {"Tanh"};
  }
}

}  // namespace

Status read_cell_math(const Prepare& p, RecurrentPlan& plan) {
  const std::vector<std::string> defaults = default_names(plan.cell);
  const size_t functions = defaults.size();
  std::vector<std::string> names;
  for (int64_t d = 0; d < plan.directions; ++d) names.insert(names.end(), defaults.begin(), defaults.end());
  if (const auto* stated = p.node().get<std::vector<std::string>>("activations"); stated != nullptr) {
    if (stated->size() != names.size()) {
      return p.corrupt("activations has ", stated->size(), " entries, ", names.size(), " are needed");
    }
    names = *stated;
  }
  Arguments alphas = read_arguments(p, "activation_alpha"), betas = read_arguments(p, "activation_beta");
  const float clip = p.node().float_or("clip", 0.0f);
  if (!(clip >= 0.0f)) return p.corrupt("clip is ", clip, ", allowed: 0 and more");
  for (size_t i = 0; i < names.size(); ++i) {
    const auto* row = std::find_if(std::begin(kFunctions), std::end(kFunctions),
                                   [&](const FunctionRow& r) { return same_word(r.name, names[i]); });
    if (row == std::end(kFunctions)) {
      std::vector<std::string_view> allowed;
      for (const FunctionRow& r : kFunctions) allowed.push_back(r.name);
      return p.corrupt("activation '", names[i], "' is unknown, allowed: ", join(allowed, ", "));
    }
    CellMath& math = plan.math[i / functions];
    math.width = plan.width;
    math.clip = clip;
    math.input_forget = p.node().int_or("input_forget", 0) != 0;
    GateActivation& activation = i % functions == 0 ? math.f : i % functions == 1 ? math.g : math.h;
    activation = {row->function, row->alpha, row->beta};
    if (row->arguments >= 1) activation.alpha = alphas.take(row->alpha);
    if (row->arguments >= 2) activation.beta = betas.take(row->beta);
  }
  return Status();
}

}  // namespace quarkq::exec

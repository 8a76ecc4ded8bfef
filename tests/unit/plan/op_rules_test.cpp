// SPDX-License-Identifier: MIT
// The table of op rules: default op sets as ref:marking#op-sets lists them, and which rule a registry gives.
#include "plan/op_rules.h"

#include <gtest/gtest.h>

#include <set>

#include "support/pass_support.h"

namespace quarkq::plan {
namespace {

using Ops = std::set<std::string, std::less<>>;

const Ops kCpuOps = {"ArgMax",
                     "Add",
                     "AveragePool",
                     "Clip",
                     "Concat",
                     "Conv",
                     "ConvTranspose",
                     "EmbedLayerNormalization",
                     "Gather",
                     "Gelu",
                     "Gemm",
                     "GlobalAveragePool",
                     "InstanceNormalization",
                     "LayerNormalization",
                     "LeakyRelu",
                     "MatMul",
                     "MaxPool",
                     "Mul",
                     "Pad",
                     "Relu",
                     "Reshape",
                     "Resize",
                     "Sigmoid",
                     "Softmax",
                     "Split",
                     "Squeeze",
                     "Tanh",
                     "Transpose",
                     "Unsqueeze",
                     "Where"};
const Ops kNpuExtras = {"DepthToSpace", "Div",   "Erf",        "HardSigmoid", "LpNormalization", "Max",
                        "Min",          "PRelu", "ReduceMean", "Slice",       "SpaceToDepth",    "Sub"};

TEST(OpRulesTest, DefaultSetsAreThoseOfTheSpec) {
  Ops cpu, npu, transformer;
  for (const OpRuleRow& row : op_rules()) {
    if (row.in_cpu_set) cpu.insert(row.op);
    if (row.in_npu_set) npu.insert(row.op);
    if (row.in_transformer_set) transformer.insert(row.op);
  }
  EXPECT_EQ(cpu, kCpuOps);
  EXPECT_EQ(cpu.size(), 30u);
  Ops wanted = kCpuOps;
  wanted.insert(kNpuExtras.begin(), kNpuExtras.end());
  EXPECT_EQ(npu, wanted);
  EXPECT_EQ(npu.size(), 42u);
  EXPECT_EQ(transformer, (Ops{"Gemm", "MatMul"}));
}

TEST(OpRulesTest, EveryOperatorHasOneRowWithARule) {
  Ops seen;
  for (const OpRuleRow& row : op_rules()) {
    EXPECT_TRUE(seen.insert(row.op).second) << row.op;
    EXPECT_NE(row.cpu, nullptr) << row.op;
    EXPECT_FALSE(std::string(row.summary).empty()) << row.op;
  }
}

TEST(OpRulesTest, RegistriesChooseTheirRules) {
  const OpRule generic = rule_for("Nonesuch", config::Registry::kCpu);
  EXPECT_EQ(rule_for("AveragePool", config::Registry::kNpuCnn), generic);
  EXPECT_NE(rule_for("AveragePool", config::Registry::kCpu), generic);
  EXPECT_EQ(rule_for("PRelu", config::Registry::kCpu), generic);
  EXPECT_NE(rule_for("PRelu", config::Registry::kNpuCnn), generic);
  EXPECT_EQ(rule_for("Conv", config::Registry::kNpuTransformer), generic);  // only Gemm and MatMul have rules there
  EXPECT_EQ(rule_for("MatMul", config::Registry::kNpuTransformer), rule_for("MatMul", config::Registry::kCpu));
  EXPECT_EQ(rule_for("Concat", config::Registry::kCpu), generic);
  EXPECT_EQ(rule_for("Softmax", config::Registry::kNpuCnn), generic);
}

TEST(OpSetTest, FollowsTheSettings) {
  EXPECT_EQ(op_set(test::settings_for("A8W8"), {}).contains("Conv"), true);
  config::Settings settings;  // CPU, nothing asked
  EXPECT_EQ(op_set(settings, {"Cos"}), kCpuOps);
  settings.npu.enable_npu_cnn = true;
  EXPECT_EQ(op_set(settings, {}).size(), 42u);
  settings.npu.enable_npu_cnn = false;
  settings.asked_quant_format = config::QuantFormat::kExtendedQdq;
  EXPECT_EQ(op_set(settings, {}).size(), 42u);
  settings.npu.enable_npu_transformer = true;
  EXPECT_EQ(op_set(settings, {}), (Ops{"Gemm", "MatMul"}));
}

TEST(OpSetTest, UsersListsReplaceAndAdd) {
  config::Settings settings;
  settings.selection.op_types_to_quantize = {"Conv"};
  settings.selection.extra_op_types_to_quantize = {"Cos"};
  EXPECT_EQ(op_set(settings, {"Sin"}), (Ops{"Conv", "Cos"}));
  settings.selection.quantize_all_op_types = true;
  EXPECT_EQ(op_set(settings, {"Sin"}), (Ops{"Conv", "Cos", "Sin"}));
}

}  // namespace
}  // namespace quarkq::plan

// SPDX-License-Identifier: MIT
// What each operator's rule marks, and how that is written: one small model for each rule and for each of its branches,
// under the quantizers that differ. The plans are text in tests/golden/marks/, the written models in
// tests/golden/written/.
#include "plan/op_rules.h"

#include <set>

#include "support/golden_text.h"
#include "support/pass_bench.h"

namespace quarkq::test {
namespace {

struct MarkCase {
  const char* name;
  std::string model;
  int opset = 17;
};

const std::string kWeights3 = cat("float[3, 2, 1, 1] w = ", numbers(6, 1), ", float[3] b = ", numbers(3, 2));
const std::string kImage = "g (float[1, 2, 4, 4] x) => (float[A, B, C, D] y) ";
const std::string kRow = "g (float[2, 4] x) => (float[A, B] y) ";

const std::vector<MarkCase>& mark_cases() {
  static const std::vector<MarkCase> kCases = {
      {"Conv", cat(kImage, "<", kWeights3, "> { y = Conv (x, w, b) }")},
      {"ConvWithoutBias", cat(kImage, "<", kWeights3, "> { y = Conv (x, w) }")},
      {"ConvWithFoldedWeight", cat(kImage, "<", kWeights3, "> { v = Neg (w) y = Conv (x, v, b) }")},
      {"ConvWithFoldedBias", cat(kImage, "<", kWeights3, "> { c = Neg (b) y = Conv (x, w, c) }")},
      {"ConvTwice", cat(kImage, "<", kWeights3, "> { p = Conv (x, w, b) q = Conv (x, w, b) y = Add (p, q) }")},
      {"ConvTranspose", cat(kImage, "<float[2, 3, 1, 1] w = ", numbers(6, 1), "> { y = ConvTranspose (x, w) }")},
      {"Gemm", cat(kRow, "<float[4, 3] w = ", numbers(12, 1), ", float[3] b = {1, 2, 3}> { y = Gemm (x, w, b) }")},
      {"GemmTransposed", cat(kRow, "<float[3, 4] w = ", numbers(12, 1), "> { y = Gemm <transB = 1> (x, w) }")},
      {"GemmWithBeta",
       cat(kRow, "<float[4, 3] w = ", numbers(12, 1), ", float[3] b = {1, 2, 3}> { y = Gemm <beta = 0.5> (x, w, b) }")},
      {"MatMul", cat(kRow, "<float[4, 3] w = ", numbers(12, 1), "> { y = MatMul (x, w) }")},
      {"MatMulOfActivations", "g (float[4, 4] x) => (float[A, B] y) { t = Transpose (x) y = MatMul (x, t) }"},
      {"MatMulConstantFirst",
       "g (float[4, 2] x) => (float[A, B] y) <float[1, 4] w = {1, 2, 3, 4}> { y = MatMul (w, x) }"},
      {"Relu", cat(kRow, "{ a = Sigmoid (x) y = Relu (a) }")},
      {"ReluOfTheInput", cat(kRow, "{ y = Relu (x) }")},
      {"ConvRelu", cat(kImage, "<", kWeights3, "> { c = Conv (x, w, b) y = Relu (c) }")},
      {"ConvClip6",
       cat(kImage, "<", kWeights3, ", float l = {0}, float h = {6}> { c = Conv (x, w, b) y = Clip (c, l, h) }")},
      {"ConvClipOther",
       cat(kImage, "<", kWeights3, ", float l = {-1}, float h = {2}> { c = Conv (x, w, b) y = Clip (c, l, h) }")},
      {"ConvReluWithAnotherReader", cat("g (float[1, 2, 4, 4] x) => (float[A, B, C, D] y, float[E, F, G, H] z) <",
                                        kWeights3, "> { c = Conv (x, w, b) y = Relu (c) z = Sigmoid (c) }")},
      {"AddThenRelu", cat(kRow, "{ a = Add (x, x) y = Relu (a) }")},
      {"AddOfAConstant", cat(kRow, "<float[4] k = {1, 2, 3, 4}> { y = Add (x, k) }")},
      {"MulOfAScalar", cat(kRow, "<float k = {0.5}> { y = Mul (x, k) }")},
      {"Sub", cat(kRow, "{ a = Neg (x) y = Sub (x, a) }")},
      {"Div", cat(kRow, "<float k = {0.5}> { y = Div (x, k) }")},
      {"MaxAndMin", cat(kRow, "<float k = {0.5}> { a = Max (x, k) y = Min (a, x) }")},
      {"MaxPool", cat(kImage, "{ y = MaxPool <kernel_shape = [2, 2]> (x) }")},
      {"MaxPoolOfOpset11", cat(kImage, "{ y = MaxPool <kernel_shape = [2, 2]> (x) }"), 11},
      {"MaxPoolAfterConv",
       cat(kImage, "<", kWeights3, "> { c = Conv (x, w, b) y = MaxPool <kernel_shape = [2, 2]> (c) }")},
      {"AveragePool", cat(kImage, "{ y = AveragePool <kernel_shape = [2, 2]> (x) }")},
      {"GlobalAveragePool", cat(kImage, "{ y = GlobalAveragePool (x) }")},
      {"Concat", cat(kRow, "{ a = Sigmoid (x) b = Tanh (x) y = Concat <axis = 0> (a, b) }")},
      {"ConcatWithAConstant", cat(kRow, "<float[1, 4] k = {1, 2, 3, 4}> { y = Concat <axis = 0> (x, k) }")},
      {"Split",
       "g (float[2, 4] x) => (float[A, B] y, float[C, D] z) <int64[2] s = {1, 3}> { y, z = Split <axis = 1> (x, s) }"},
      {"Reshape", cat(kRow, "<int64[2] s = {4, 2}> { a = Sigmoid (x) y = Reshape (a, s) }")},
      {"ReshapeOfTheInput", cat(kRow, "<int64[2] s = {4, 2}> { y = Reshape (x, s) }")},
      {"ReshapeChain",
       cat(kRow, "<int64[2] s = {4, 2}> { a = Sigmoid (x) b = Reshape (a, s) c = Transpose (b) y = Relu (c) }")},
      {"Transpose", cat(kRow, "{ a = Sigmoid (x) y = Transpose (a) }")},
      {"SqueezeUnsqueeze",
       cat(kRow, "<int64[1] s = {0}> { a = Sigmoid (x) b = Unsqueeze (a, s) c = Squeeze (b, s) y = Tanh (c) }")},
      {"GatherOfAConstant",
       "g (int64[2] i) => (float[A, B] y) <float[5, 3] t = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}> "
       "{ a = Gather (t, i) y = Relu (a) }"},
      {"GatherOfAnActivation", cat(kRow, "<int64[1] i = {1}> { a = Sigmoid (x) y = Gather (a, i) }")},
      {"Where",
       "g (bool[2, 4] c, float[2, 4] x) => (float[A, B] y) { a = Sigmoid (x) b = Tanh (x) y = Where (c, a, b) }"},
      {"WhereOfOneMarked",
       "g (bool[2, 4] c, float[2, 4] x) => (float[A, B] y) <float k = {0}> { y = Where (c, x, k) }"},
      {"Resize",
       cat(kImage, "<float[4] f = {1, 1, 2, 2}> { a = Sigmoid (x) y = Resize <mode = \"nearest\"> (a, , f) }")},
      {"Pad", cat(kRow, "<int64[4] p = {0, 1, 0, 1}, float v = {0.5}> { y = Pad (x, p, v) }")},
      {"Slice", cat(kRow, "<int64[1] s = {0}, int64[1] e = {1}> { a = Sigmoid (x) y = Slice (a, s, e) }")},
      {"Softmax", cat(kRow, "{ y = Softmax (x) }")},
      {"SigmoidAndTanh", cat(kRow, "{ a = Sigmoid (x) y = Tanh (a) }")},
      {"LeakyRelu", cat(kRow, "{ y = LeakyRelu <alpha = 0.1> (x) }")},
      {"HardSigmoidOfTheNpu", cat(kRow, "{ y = HardSigmoid <alpha = 0.16666667, beta = 0.5> (x) }")},
      {"HardSigmoidOfOthers", cat(kRow, "{ y = HardSigmoid (x) }")},
      {"PRelu", cat(kRow, "<float[4] s = {0.1, 0.2, 0.3, 0.4}> { y = PRelu (x, s) }")},
      {"InstanceNormalization",
       cat(kImage, "<float[2] s = {1, 2}, float[2] b = {0, 1}> { y = InstanceNormalization (x, s, b) }")},
      {"LayerNormalization", cat(kRow,
                                 "<float[4] s = {1, 2, 1, 2}, float[4] b = {0, 1, 0, 1}> { a = Sigmoid (x) y = "
                                 "LayerNormalization (a, s, b) }")},
      {"ArgMax", "g (float[2, 4] x) => (int64[A, B] y) { a = Sigmoid (x) y = ArgMax <axis = 1> (a) }"},
      {"ReduceMean", cat(kImage, "{ y = ReduceMean <axes = [2, 3]> (x) }")},
      {"DepthToSpace",
       "g (float[1, 4, 2, 2] x) => (float[A, B, C, D] y) { a = Sigmoid (x) y = DepthToSpace <blocksize = 2> (a) }"},
      {"NotInTheSet", cat(kRow, "{ a = Cos (x) b = Relu (a) y = Cos (b) }")},
      {"BranchesThatMeet", cat(kRow, "{ a = Relu (x) b = Sigmoid (a) c = Tanh (a) d = Mul (b, c) y = Add (d, a) }")},
      {"OutputThatIsRead", "g (float[2, 4] x) => (float[2, 4] y, float[2, 4] z) { y = Sigmoid (x) z = Tanh (y) }"},
  };
  return kCases;
}

struct Flavor {
  const char* name;
  const char* preset;
  std::vector<std::string> sets;
  bool is_written = true;  ///< false: written as others are, the plan says all

  friend void PrintTo(const Flavor& flavor, std::ostream* out) { *out << flavor.name; }  ///< for messages
};

const Flavor kFlavors[] = {
    {"A8W8", "A8W8", {}},
    {"XINT8", "XINT8", {}},
    {"U8S8_AAWS", "U8S8_AAWS", {}},
    {"A16W8", "A16W8", {}, false},
    {"BF16", "BF16", {}},
    {"BFP16", "BFP16", {}},
    {"PerChannel", "A8W8", {"per_channel=true"}, false},
    {"PairsOnWeights", "A8W8", {"AddQDQPairToWeight=true"}},
    {"DedicatedPairs", "A8W8", {"DedicatedQDQPair=true"}},
    {"Forced", "A8W8", {"ForceQuantizeNoInputCheck=true", "QuantizeAllOpTypes=true"}, false},
    {"WeightsOnly", "A8W8", {"WeightsOnly=true"}, false},
    {"FloatBias", "A8W8", {"QuantizeBias=false"}, false},
};

class OpMarksTest : public testing::TestWithParam<Flavor> {};

TEST_P(OpMarksTest, EveryRuleMarksAsRecorded) {
  const Flavor& flavor = GetParam();
  std::string text;
  for (const MarkCase& row : mark_cases()) {
    PassStage stage(model_of(row.model, row.opset), settings_for(flavor.preset, flavor.sets));
    stage.run_before("calibrate-activations");
    text += cat("== ", row.name, "\n", stage.text(/*plan=*/true));
  }
  expect_golden(cat("marks/", flavor.name, ".txt"), text);
}

TEST_P(OpMarksTest, PlansAreWrittenAsRecorded) {
  const Flavor& flavor = GetParam();
  if (!flavor.is_written) return;
  std::string text;
  for (const MarkCase& row : mark_cases()) {
    SCOPED_TRACE(row.name);
    // Samples are random floats: models that read other types have none.
    if (row.model.find("bool[") != std::string::npos || row.model.find("(int64[2] i)") != std::string::npos) continue;
    PassStage stage(model_of(row.model, row.opset), settings_for(flavor.preset, flavor.sets));
    stage.run_before("quantize-matmul-nbits");
    ASSERT_EQ(ir::verify(stage.model().graph).message(), "");
    text += cat("== ", row.name, "\n", stage.text(/*plan=*/false));
  }
  expect_golden(cat("written/", flavor.name, ".txt"), text);
}

INSTANTIATE_TEST_SUITE_P(All, OpMarksTest, testing::ValuesIn(kFlavors),
                         [](const testing::TestParamInfo<Flavor>& info) { return std::string(info.param.name); });

/// An operator with a rule of its own is in a model above; the generic rule is not listed for each.
TEST(OpMarksCoverageTest, EveryRuleHasAModel) {
  const plan::OpRule generic = plan::rule_for("Nonesuch", config::Registry::kCpu);
  std::set<plan::OpRule> covered;
  for (const MarkCase& row : mark_cases()) {
    const ir::Model model = model_of(row.model, row.opset);
    for (const ir::NodeId id : model.graph.order()) {
      for (const auto registry : {config::Registry::kCpu, config::Registry::kNpuCnn, config::Registry::kNpuTransformer})
        covered.insert(plan::rule_for(model.graph.node(id).op, registry));
    }
  }
  for (const plan::OpRuleRow& row : plan::op_rules()) {
    for (const auto registry : {config::Registry::kCpu, config::Registry::kNpuCnn}) {
      const plan::OpRule rule = plan::rule_for(row.op, registry);
      EXPECT_TRUE(rule == generic || covered.contains(rule)) << row.op << " has a rule that no model takes";
    }
  }
}

}  // namespace
}  // namespace quarkq::test

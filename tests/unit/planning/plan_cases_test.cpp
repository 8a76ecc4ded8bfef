// SPDX-License-Identifier: MIT
// The five proofs of passes on the plan, and of small passes after it (tests/support/pass_case.h).
#include "support/pass_case.h"
#include "support/pass_support.h"

namespace quarkq::test {
namespace {

const std::string kConvCase =
    cat("g (float[1, 2, 4, 4] x) => (float[1, 3, 4, 4] y) <float[3, 2, 1, 1] w = ", numbers(6, 1),
        ", float[3] b = ", numbers(3, 2), "> ");

/// The input of the Conv comes from an operator whose output stays float.
PassCase released() {
  return {.pass = "release-biases",
          .name = "InputStaysFloat",
          .model = kConvCase + "{ [first] s = Sigmoid (x) y = Conv (s, w, b) }",
          .guards = {{"InputIsQuantized", "[first]", "[other]"},
                     {"BiasIsNoInt32", "", "", {"Int32Bias=false"}},
                     {"NoBias", "Conv (s, w, b)", "Conv (s, w)"}},
          .sets = {"NodesToExcludeOutputQuantization=[first]"},
          .start = PassStart::kInOrder,
          .outputs = PassOutputs::kPlan};
}

PassCase block_axis() {
  return {
      .pass = "refine-block-axis",
      .name = "ProductsAndSoftmax",
      .model = cat("g (float[1, 4, 16] x) => (float[1, 4, 3] y) <float[16, 8] w = ", numbers(128, 1),
                   ", float[8, 3] v = ", numbers(24, 2),
                   "> { a = MatMul (x, w) s = Softmax <axis = 1> (a) y = MatMul (s, v) }"),
      .guards = {{"FormatsWithoutBlocks", "", "", {"activation_type=QuantType.QInt8", "weight_type=QuantType.QInt8"}},
                 {"NoProducts", "a = MatMul (x, w) s = Softmax <axis = 1> (a) y = MatMul (s, v)", "y = Relu (x)"}},
      .preset = "BFP16",
      .start = PassStart::kInOrder,
      .outputs = PassOutputs::kPlan};
}

PassCase passthrough() {
  return {.pass = "exclude-passthrough-ops",
          .name = "ReshapeAndTranspose",
          .model =
              "g (float[2, 3] x) => (float[3, 2] y) <int64[2] s = {3, 2}> { a = Relu (x) b = Reshape (a, s) y = "
              "Sigmoid (b) }",
          .guards = {{"NoneIsNamed", "", "", {"CalibPassthroughOpTypes=[]"}},
                     {"IsNotInTheOpSet", "", "", {"CalibPassthroughOpTypes=[NonMaxSuppression]"}}},
          .sets = {"CalibPassthroughOpTypes=[Reshape, Transpose]"},
          .start = PassStart::kInOrder,
          .outputs = PassOutputs::kPlan};
}

PassCase without_kernel() {
  return {.pass = "leave-without-kernel",
          .name = "DilatedAveragePool",
          .model =
              "g (float[1, 2, 6, 6] x) => (float[N, C, H, W] y) { a = Sigmoid (x) b = AveragePool <kernel_shape = "
              "[2, 2], dilations = [2, 2]> (a) y = Sigmoid (b) }",
          .guards = {{"HasNoDilations", "dilations = [2, 2]", "dilations = [1, 1]"}},
          .opset = 19,
          .start = PassStart::kInOrder,
          .outputs = PassOutputs::kPlan};
}

PassCase measured() {
  return {
      .pass = "measure-for-mixing",
      .name = "FloatsThatMayBecomeInt8",
      .model = kConvCase + "{ y = Conv (x, w, b) }",
      .guards =
          {{"TheOtherFormatHasNoRange",
            "",
            "",
            {"AutoMixprecision={TargetLayerConfig: {input_tensors: {spec: BFP16Spec}, weight: {spec: BFP16Spec}}}"}}},
      .preset = "BF16",
      .sets = {"include_auto_mp=true",
               "AutoMixprecision={TargetLayerConfig: {input_tensors: {spec: Int8Spec}, weight: {spec: Int8Spec}}}"},
      .start = PassStart::kInOrder,
      .outputs = PassOutputs::kPlan};
}

PassCase folded() {
  return {.pass = "fold-removable",
          .name = "ReluThatTheRangeReplaces",
          .model = cat("g (float[1, 2, 4, 4] x) => (float[1, 3, 4, 4] y) <float[3, 2, 1, 1] w = ", numbers(6, 1),
                       ", float[3] b = ", numbers(3, 2), ", float half = {0.5}> { c = Conv (x, w, b) y = Relu (c) }"),
          .guards = {{"TheRangeHoldsZeroToo", "Relu (c)", "Clip (c, half)"},
                     {"IsKept", "", "", {"QDQKeepRemovableActivations=true"}},
                     {"NoClamp", "Relu", "Sigmoid"}},
          .preset = "U8S8_AAWS",
          .start = PassStart::kInOrder,
          .outputs = PassOutputs::kChange};
}

/// The quirk FoldWhereRangesClamp is off in compat mode: the node is removed whatever the range is.
PassCase folded_always() {
  PassCase row = folded();
  row.name = "WhateverTheRangeInCompatMode";
  row.model.replace(row.model.find("Relu (c)"), std::string("Relu (c)").size(), "Clip (c, half)");
  row.guards = {{"IsKept", "", "", {"QDQKeepRemovableActivations=true"}}, {"NoClamp", "Clip (c, half)", "Sigmoid (c)"}};
  row.sets = {"quarkq.compat=quark-0.13"};
  return row;
}

PassCase stamped() {
  return {.pass = "stamp-model",
          .name = "Producer",
          .model = "g (float[2] x) => (float[2] y) { y = Relu (x) }",
          .always = true};
}

/// Conv, its activation and nothing else; `sets` on top of A8W8.
PassCase on_the_plan(const std::string& pass, const std::string& name, std::vector<PassGuard> guards,
                     std::vector<std::string> sets = {}) {
  return {.pass = pass,
          .name = name,
          .model = kConvCase + "{ c = Conv (x, w, b) y = Relu (c) }",
          .guards = std::move(guards),
          .sets = std::move(sets),
          .start = PassStart::kInOrder,
          .outputs = PassOutputs::kPlan};
}

const PassGuard kNothing = {
    "NothingIsQuantized", "", "", {"layer_type_config=[{op_types: [Conv, Relu], config: null}]"}};

const PassGuard kAddIsFloat = {"NothingIsQuantized", "", "", {"layer_type_config=[{op_types: [Add], config: null}]"}};

PassCase absorbed() {
  return on_the_plan("absorb-annotated", "BetweenConvAndRelu",
                     {{"IsOff", "", "", {"RemoveQDQConvRelu=false"}},
                      {"OtherActivation", "Relu", "Sigmoid"},
                      {"HasAnotherReader", "y = Relu (c)", "r = Relu (c) y = Add (r, c)"}});
}

PassCase shared() { return on_the_plan("resolve-sharing", "ConvAndRelu", {kNothing}); }

/// The range of x + x is the same on every machine.
PassCase calibrated() {
  PassCase row = on_the_plan("calibrate-activations", "Sum", {kAddIsFloat});
  row.model = "g (float[4] x) => (float[4] y) { y = Add (x, x) }";
  return row;
}

PassCase int32_biases() {
  PassCase row = on_the_plan(
      "encode-biases", "Conv",
      {kNothing, {"BiasIsNoInt32", "", "", {"Int32Bias=false"}}, {"NoBias", "Conv (x, w, b)", "Conv (x, w)"}});
  return row;
}

PassCase dual_pairs() {
  return on_the_plan(
      "plan-dual-pairs", "SixteenBitsAfterEight",
      {{"SameFormat", "", "", {"TensorQuantOverrides={y: [{quant_type: QuantType.QInt8}]}"}}},
      {"TensorQuantOverrides={y: [{quant_type: ExtendedQuantType.QInt16}]}", "EnableDualQuantNodePairs=true"});
}

PassCase aligned() {
  PassCase row =
      on_the_plan("align-scales", "Concat",
                  {{"IsOff", "", "", {"AlignConcat=false"}}, {"NoConcat", "Concat <axis = 0> (x, a)", "Add (x, a)"}});
  row.model =
      "g (float[2, 4] x) => (float[N, 4] y) <float[1] f = {0.01}> { a = Mul (x, f) y = Concat <axis = 0> (x, a) }";
  return row;
}

PassCase moved_positions() {
  PassCase row = aligned();
  row.pass = "refine-positions";
  row.preset = "XINT8";
  return row;
}

PassCase simulated() {
  PassCase row =
      on_the_plan("simulate-dpu", "LeakyRelu",
                  {{"IsOff", "", "", {"ConvertLeakyReluToDPUVersion=false"}}, {"SlopeIsExact", "0.1", "0.1015625"}});
  row.model = "g (float[4] x) => (float[4] y) { y = LeakyRelu <alpha = 0.1> (x) }";
  row.preset = "XINT8";
  row.outputs = PassOutputs::kChange;
  return row;
}

PassCase narrow_biases() {
  return on_the_plan("narrow-biases", "Conv", {kNothing, {"NoBias", "Conv (x, w, b)", "Conv (x, w)"}},
                     {"Int16Bias=true"});
}

PassCase removed_pairs() {
  PassCase row = on_the_plan("remove-pairs-between", "MulAndAdd",
                             {{"IsOff", "", "", {"RemoveQDQMulAdd=false"}},
                              {"OtherOperator", "Add (m, f)", "Sub (m, f)"},
                              {"HasAnotherReader", "(float[4] y)", "(float[4] y, float[4] m)"}},
                             {"RemoveQDQMulAdd=true"});
  row.model = "g (float[4] x) => (float[4] y) <float[4] f = {1, 0.5, -1, 2}> { m = Mul (x, f) y = Add (m, f) }";
  return row;
}

/// Inputs and weights of like signs: errors of rounding to nearest add up.
PassCase compensated() {
  PassCase row = on_the_plan(
      "compensate-rounding", "Conv",
      {kNothing, {"WeightsAreShared", "c = Conv (x, w, b)", "a = Conv (x, w, b) d = Conv (x, w) c = Add (a, d)"}},
      {"quarkq.rounding=compensated"});
  row.model = cat("g (float[1, 4, 10, 10] x) => (float[1, 3, 8, 8] y) <float[3, 4, 3, 3] w = ", numbers(108, 1),
                  ", float[3] b = ", numbers(3, 2), "> { c = Conv (x, w, b) y = Relu (c) }");
  return row;
}

PassCase corrected() {
  PassCase row = on_the_plan("correct-bias", "Conv", {kNothing}, {"BiasCorrection=true"});
  row.once = true;  // an estimate from samples of the plan as it is: a second one corrects what the first left
  return row;
}

PassCase gptq() {
  PassCase row = on_the_plan("quantize-weights-gptq", "Product", {{"NoProduct", "y = MatMul (x, w)", "y = Relu (x)"}},
                             {"UseGPTQ=true"});
  row.model =
      cat("g (float[8, 16] x) => (float[8, 12] y) <float[16, 12] w = ", numbers(192, 1), "> { y = MatMul (x, w) }");
  return row;
}

/// Opset 13: standard DQ nodes take a scale per column.
PassCase gptq_per_column() {
  PassCase row = gptq();
  row.name = "ScalePerColumn";
  row.sets.emplace_back("GPTQParams.PerChannel=true");
  return row;
}

/// Rounds some weight the other way than to the nearest.
PassCase finetuned() {
  PassCase row = on_the_plan("finetune-weights", "Conv",
                             {kNothing, {"NoLayerOfTheAlgorithms", "c = Conv (x, w, b) y = Relu (c)", "y = Relu (x)"}});
  row.model = cat("g (float[1, 3, 6, 6] x) => (float[1, 4, 4, 4] y) <float[4, 3, 3, 3] w = ", numbers(108, 1),
                  ", float[4] b = ", numbers(4, 2), "> { c = Conv (x, w, b) y = Relu (c) }");
  row.preset = "A16W8_ADAROUND";
  row.sets = {"FastFinetune.NumIterations=100"};
  row.once = true;  // training starts from the codes as they are: a second time goes on where the first stopped
  return row;
}

PassCase reset_beta() {
  return {
      .pass = "reset-gemm-beta",
      .name = "OneHalf",
      .model = cat("g (float[2, 3] x) => (float[2, 4] y) <float[3, 4] w = ", numbers(12, 1),
                   ", float[4] c = {1, 2, 3, 4}> { y = Gemm <beta = 0.5> (x, w, c) }"),
      .guards = {{"BetaIsOne", "beta = 0.5", "beta = 1.0"},
                 {"BiasIsComputed", "y = Gemm <beta = 0.5> (x, w, c)", "k = Neg (c) y = Gemm <beta = 0.5> (x, w, k)"},
                 {"IsExcluded", "", "", {"layer_type_config=[{op_types: [Gemm], config: null}]"}}},
      .outputs = PassOutputs::kChange};
}

PassCase op_set() {
  return {.pass = "select-nodes",
          .name = "OpSet",
          .model = "g (float[4] x) => (float[4] y) { a = Relu (x) y = Mul (a, a) }",
          .guards = {{"OthersAreAskedFor", "", "", {"op_types_to_quantize=[Conv]"}}},
          .outputs = PassOutputs::kPlan};
}

PassCase settings_of_a_tensor() {
  return {.pass = "find-overrides",
          .name = "OneTensor",
          .model = "g (float[4] x) => (float[4] y) { a = Relu (x) y = Mul (a, a) }",
          // By default an error, in compat mode a warning.
          .guards = {{"NoSuchTensor",
                      "a = Relu (x) y = Mul (a, a)",
                      "b = Relu (x) y = Mul (b, b)",
                      {"quarkq.compat=quark-0.13"}}},
          .sets = {"TensorQuantOverrides={a: [{quant_type: QuantType.QInt16}]}"},
          .start = PassStart::kInOrder,
          .outputs = PassOutputs::kPlan};
}

/// Scores of 0 to 1 beside boxes of hundreds.
PassCase far_ranges() {
  return {.pass = "guard-far-ranges",
          .name = "ScoresBesideBoxes",
          .model = cat("g (float[1, 8] x) => (float[1, 16] y) <float k = {500.0}, float[16, 16] w = ", numbers(256, 3),
                       "> { a = Sigmoid (x) b = Mul (x, k) c = Concat <axis = 1> (a, b) y = Sigmoid (c) }"),
          .guards = {{"NearRanges", "500.0", "1.0"},
                     {"ALayerReadsIt", "y = Sigmoid (c)", "y = MatMul (c, w)"},
                     {"IsOff", "", "", {"quarkq.guards=off"}}},
          .start = PassStart::kInOrder,
          .outputs = PassOutputs::kPlan};
}

PassCase sentinels() {
  return {.pass = "guard-sentinel-ranges",
          .name = "MaskBeforeSoftmax",
          .model =
              "g (float[2, 2] x) => (float[2, 2] y) <float[2, 2] mask = {0, -10000.0, 0, 0}> "
              "{ s = MatMul (x, x) m = Add (s, mask) p = Softmax (m) y = MatMul (p, x) }",
          .guards = {{"NoSentinel", "-10000.0", "-1.0"}, {"OthersReadIt", "p = Softmax (m)", "p = Neg (m)"}},
          .start = PassStart::kInOrder,
          .outputs = PassOutputs::kPlan};
}

PassCase wide_scales() {
  return {.pass = "widen-weight-scales",
          .name = "BiasBeyondInt32",
          .model =
              "g (float[1, 2, 4, 4] x) => (float[1, 3, 4, 4] y) "
              "<float[3, 2, 1, 1] w = {0.001, -0.0005, 0.0003, 0.001, -0.001, 0.0002}, float[3] b = {100000, 1, "
              "2}> { y = Conv (x, w, b) }",
          .guards = {{"BiasFits", "100000", "1"}, {"NoBias", "Conv (x, w, b)", "Conv (x, w)"}},
          .sets = {"AdjustWeightScaleForInt32Bias=true"},
          .start = PassStart::kInOrder,
          .outputs = PassOutputs::kPlan};
}

/// Nodes without pairs come sooner than those that wait for Q and DQ.
PassCase order() {
  return {.pass = "order-as-written",
          .name = "FloatBranch",
          .model =
              "g (float[4] x) => (float[4] y) { a = Relu (x) [f] f = Neg (x) b = Sigmoid (a) [g] g = Tanh (f) "
              "y = Add (b, g) }",
          .guards = {{"AllAreQuantized", "", "", {"nodes_to_exclude=[]"}}},
          .preset = "XINT8",
          .sets = {"nodes_to_exclude=[f, g]"},
          .start = PassStart::kInOrder,
          .outputs = PassOutputs::kStay,
          .tolerance = 0};
}

/// A threshold of 0: every node is promoted, and nothing is measured.
PassCase mixed() {
  PassCase row = on_the_plan(
      "mix-precision", "AllToInt16",
      {kNothing,
       {"OtherOperators", "", "", {"AutoMixprecision={TargetOpType: [Gemm]}"}},
       {"OnlyRanked", "", "", {"AutoMixprecision={MetricThreshold: null}"}}},
      {"include_auto_mp=true",
       "AutoMixprecision={TargetLayerConfig: {input_tensors: {spec: Int16Spec}, weight: {spec: Int16Spec}}}"});
  return row;
}

const bool kPlanCases = add_pass_cases({mixed(),
                                        without_kernel(),
                                        released(),
                                        op_set(),
                                        settings_of_a_tensor(),
                                        far_ranges(),
                                        sentinels(),
                                        wide_scales(),
                                        order(),
                                        block_axis(),
                                        passthrough(),
                                        measured(),
                                        folded(),
                                        folded_always(),
                                        stamped(),
                                        absorbed(),
                                        on_the_plan("mark-tensors", "ConvAndRelu", {kNothing}),
                                        shared(),
                                        calibrated(),
                                        on_the_plan("encode-constants", "Weight", {kNothing}),
                                        int32_biases(),
                                        dual_pairs(),
                                        aligned(),
                                        moved_positions(),
                                        simulated(),
                                        reset_beta(),
                                        narrow_biases(),
                                        removed_pairs(),
                                        compensated(),
                                        corrected(),
                                        gptq(),
                                        gptq_per_column(),
                                        finetuned()});

}  // namespace
}  // namespace quarkq::test

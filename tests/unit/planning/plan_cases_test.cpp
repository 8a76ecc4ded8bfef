// SPDX-License-Identifier: MIT
// The five proofs of passes on the plan, and of small passes after it (tests/support/pass_case.h).
#include "support/pass_case.h"
#include "support/pass_support.h"

namespace quarkq::test {
namespace {

const std::string kConv = cat("g (float[1, 2, 4, 4] x) => (float[1, 3, 4, 4] y) <float[3, 2, 1, 1] w = ", numbers(6, 1),
                              ", float[3] b = ", numbers(3, 2), "> ");

/// The input of the Conv comes from an operator whose output stays float.
PassCase released() {
  return {.pass = "release-biases",
          .name = "InputStaysFloat",
          .model = kConv + "{ [first] s = Sigmoid (x) y = Conv (s, w, b) }",
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

PassCase measured() {
  return {
      .pass = "measure-for-mixing",
      .name = "FloatsThatMayBecomeInt8",
      .model = kConv + "{ y = Conv (x, w, b) }",
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
          .model = kConv + "{ c = Conv (x, w, b) y = Relu (c) }",
          .guards = {{"RangesAreSymmetric", "", "", {"ActivationSymmetric=true"}},
                     {"IsKept", "", "", {"QDQKeepRemovableActivations=true"}},
                     {"NoClamp", "Relu", "Sigmoid"}},
          .preset = "U8S8_AAWS",
          .start = PassStart::kInOrder,
          .outputs = PassOutputs::kChange,
          .once = true};
}

PassCase stamped() {
  return {.pass = "stamp-model",
          .name = "Producer",
          .model = "g (float[2] x) => (float[2] y) { y = Relu (x) }",
          .once = true,
          .always = true};
}

const bool kAdded = add_pass_cases({released(), block_axis(), passthrough(), measured(), folded(), stamped()});

}  // namespace
}  // namespace quarkq::test

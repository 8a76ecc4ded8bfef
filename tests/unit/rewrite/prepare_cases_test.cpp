// SPDX-License-Identifier: MIT
// The five proofs of passes that simplify, fuse and fold the float model (tests/support/pass_case.h).
#include "support/pass_case.h"
#include "support/pass_support.h"

namespace quarkq::test {
namespace {

std::string norm_of(int channels) {
  const auto count = static_cast<size_t>(channels);
  return cat("float[", channels, "] gamma = ", numbers(count, 11, 0.5, 2), ", float[", channels,
             "] beta = ", numbers(count, 12), ", float[", channels, "] mean = ", numbers(count, 13), ", float[",
             channels, "] var = ", numbers(count, 14, 0.5, 2));
}

PassCase pad_into_conv() {
  return {.pass = "fuse-pad-into-conv",
          .name = "SpatialZeros",
          .model =
              cat("g (float[1, 2, 5, 5] x, int64[8] q) => (float[N, C, H, W] y) <int64[8] p = {0, 0, 1, 0, 0, 0, 2, "
                  "1}, float v = {0}, "
                  "float[3, 2, 3, 3] w = ",
                  numbers(54, 1), "> { a = Pad <mode = \"constant\"> (x, p, v) y = Conv <dilations = [1, 1]> (a, w) }"),
          .guards = {
              {"Reflects", "constant", "reflect"},
              {"PadsWithOne", "v = {0}", "v = {1}"},
              {"CutsOff", "{0, 0, 1, 0, 0, 0, 2, 1}", "{0, 0, 1, 0, 0, 0, -1, 0}"},
              {"PadsTheBatch", "{0, 0, 1, 0, 0, 0, 2, 1}", "{1, 0, 0, 0, 0, 0, 0, 0}"},
              {"HasAnotherReader", "float[N, C, H, W] y)", "float[N, C, H, W] y, float[N, D, K, L] a)"},
              {"ConvPadsByItself", "dilations = [1, 1]", "auto_pad = \"SAME_UPPER\""},
              {"ReaderIsNoConv", "y = Conv <dilations = [1, 1]> (a, w)", "y = MaxPool <kernel_shape = [2, 2]> (a)"}}};
}

PassCase pads_as_attribute() {
  return {.pass = "fuse-pad-into-conv",
          .name = "OldPadOnTopOfPads",
          .model = cat(
              "g (float[1, 2, 5, 5] x) => (float[N, C, H, W] y) <float[3, 2, 3, 3] w = ", numbers(54, 1),
              "> { a = Pad <pads = [0, 0, 1, 0, 0, 0, 2, 1], value = 0.0> (x) y = Conv <pads = [1, 1, 1, 1]> (a, w) }"),
          .guards = {{"PadsWithOne", "value = 0.0", "value = 1.0"},
                     {"PadsChannels", "pads = [0, 0, 1, 0, 0, 0, 2, 1]", "pads = [0, 1, 0, 0, 0, -1, 0, 0]"}},
          .opset = 10};
}

PassCase scalars_around_conv() {
  return {.pass = "fold-channel-affines",
          .name = "AroundConv",
          .model = cat("g (float[1, 2, 4, 4] x) => (float[N, C, H, W] y) <float two = {2}, float[3, 1, 1] channels = "
                       "{1, 0.5, -3}, float[3, 2, 1, 1] w = ",
                       numbers(6, 1), "> { m = Mul (x, two) c = Conv (m, w) y = Add (c, channels) }"),
          .guards = {{"PerPlace", "float two = {2}, float[3, 1, 1] channels = {1, 0.5, -3}",
                      "float[4] two = {1, 2, 3, 4}, float[4] channels = {1, 2, 3, 4}"}}};
}

PassCase batch_norm_first() {
  return {.pass = "fuse-batch-norm",
          .name = "ConvWithBias",
          .model = cat("g (float[1, 2, 5, 5] x) => (float[N, C, H, W] y) <float[4, 2, 3, 3] w = ", numbers(72, 1),
                       ", float[4] b = ", numbers(4, 2), ", ", norm_of(4),
                       "> { c = Conv (x, w, b) y = BatchNormalization <epsilon = 0.001> (c, gamma, beta, mean, var) }"),
          .guards = {{"OtherProducer", "c = Conv (x, w, b)", "d = Conv (x, w, b) c = Sigmoid (d)"},
                     {"HasAnotherReader", "float[N, C, H, W] y)", "float[N, C, H, W] y, float[N, D, K, L] c)"},
                     {"WeightIsComputed", "c = Conv (x, w, b)", "k = Neg (w) c = Conv (x, k, b)"}}};
}

PassCase batch_norm_later() {
  return {.pass = "fold-batch-norm",
          .name = "Gemm",
          .model = cat("g (float[3, 5] x) => (float[N, C] y) <float[6, 5] w = ", numbers(30, 1),
                       ", float[6] b = ", numbers(6, 2), ", ", norm_of(6),
                       "> { c = Gemm <transB = 1> (x, w, b) y = BatchNormalization (c, gamma, beta, mean, var) }"),
          .guards = {
              {"OtherProducer", "c = Gemm <transB = 1> (x, w, b)", "d = Gemm <transB = 1> (x, w, b) c = Sigmoid (d)"},
              {"ScaledProduct", "transB = 1", "transB = 1, alpha = 2.0"},
              {"HasAnotherReader", "float[N, C] y)", "float[N, C] y, float[N, D] c)"}}};
}

PassCase batch_norm_after_concat() {
  return {.pass = "fold-batch-norm-after-concat",
          .name = "TwoConvs",
          .model = cat("g (float[1, 2, 5, 5] x) => (float[N, C, H, W] y) <float[2, 2, 1, 1] w = ", numbers(4, 1),
                       ", float[2] b = ", numbers(2, 2), ", float[2, 2, 1, 1] v = ", numbers(4, 3),
                       ", float[2] d = ", numbers(2, 4), ", ", norm_of(4),
                       "> { l = Conv (x, w, b) r = Conv (x, v, d) c = Concat <axis = 1> (l, r) y = BatchNormalization "
                       "(c, gamma, beta, mean, var) }"),
          .guards = {{"OtherAxisReader", "float[N, C, H, W] y)", "float[N, C, H, W] y, float[N, D, K, L] c)"},
                     {"OneIsNoLayer", "r = Conv (x, v, d)", "s = Conv (x, v, d) r = Sigmoid (s)"},
                     {"ALayerHasAnotherReader", "float[N, C, H, W] y)", "float[N, C, H, W] y, float[N, D, K, L] l)"}}};
}

PassCase constants() {
  return {.pass = "fold-constants",
          .name = "ChainOfTwo",
          .model =
              "g (float[2] x) => (float[2] y) <float[2] a = {1, 2}, float[2] b = {3, 4}> { c = Add (a, b) d = Mul (c, "
              "c) y = Add (x, d) }",
          .guards = {{"ReadsAnInput", "c = Add (a, b) d = Mul (c, c)", "c = Add (x, b) d = Mul (c, c)"},
                     {"IsRandom", "c = Add (a, b) d = Mul (c, c)", "d = RandomNormal <shape = [2]> ()"},
                     {"IsRandomLikeAConstant", "c = Add (a, b) d = Mul (c, c)", "d = RandomNormalLike (a)"},
                     {"InputMayReplaceIt", "c = Add (a, b) d = Mul (c, c) y = Add (x, d)", "y = Add (x, a)"}}};
}

PassCase no_ops() {
  return {
      .pass = "remove-no-ops",
      .name = "IdentityAndDropout",
      .model =
          "g (float[3] x) => (float[3] y) <float r = {0.5}, bool t = {1}> { a = Relu (x) b = Identity (a) c = Dropout "
          "(b) y = Neg (c) }",
      .guards = {
          {"Trains", "b = Identity (a) c = Dropout (b)", "c = Dropout (a, r, t)"},
          {"JoinsInputAndOutput", "a = Relu (x) b = Identity (a) c = Dropout (b) y = Neg (c)", "y = Identity (x)"},
          {"MaskIsRead",
           "float[3] y) <float r = {0.5}, bool t = {1}> { a = Relu (x) b = Identity (a) c = Dropout (b) y = Neg (c)",
           "float[3] y, bool[3] m) { a = Relu (x) c, m = Dropout (a) y = Neg (c)"}}};
}

PassCase listed_initializers() {
  return {.pass = "remove-input-initializers",
          .name = "AWeight",
          .model = "g (float[2] x, float[2] w) => (float[2] y) <float[2] w = {1, 2}> { y = Add (x, w) }",
          .guards = {{"NoneIsListed", "(float[2] x, float[2] w)", "(float[2] x)"}}};
}

const char* const kShared =
    "g (float[1, 2, 3, 3] x) => (float[1, 2, 3, 3] y) <float[2, 2, 1, 1] w = {1, 2, 3, 4}, float[2] b = {1, -1}, "
    "float[2] d = {1, -2}, "
    "float[2, 2, 1, 1] v = {1, 2, 3, 5}> { c = Conv (x, w, b) y = Conv <dilations = [1, 1]> (c, w, b) }";

PassCase shared_weights() {
  return {.pass = "copy-shared-init",
          .name = "TwoConvs",
          .model = kShared,
          .guards = {{"OtherOperators", "", "", {"CopySharedInit=[Gemm]"}},
                     {"EachHasItsOwn", "y = Conv <dilations = [1, 1]> (c, w, b)",
                      "y = Conv <dilations = [1, 1]> (c, v, d)"}},
          .sets = {"CopySharedInit=[]"}};
}

PassCase shared_biases() {
  return {.pass = "copy-bias-init",
          .name = "TwoConvs",
          .model = kShared,
          .guards = {
              {"OtherOperators", "", "", {"CopyBiasInit=[Gemm]"}},
              {"PowerOfTwoScales", "", "", {"calibrate_method=PowerOfTwoMethod.MinMSE"}},
              {"EachHasItsOwn", "y = Conv <dilations = [1, 1]> (c, w, b)", "y = Conv <dilations = [1, 1]> (c, w, d)"}}};
}

/// Only a model of dynamic shape gives the pass something to do, and such a model has no random inputs.
PassCase shapes() {
  return {.pass = "fix-shapes",
          .name = "Batch",
          .model = "g (float[N, 3, H, W] x) => (float[N, 3, P, Q] y) { r = Relu (x) y = Neg (r) }",
          .guards = {{"RanksDiffer", "", "", {"FixShapes='x:[1,3,8,8];y:[1,3,8]'"}},
                     {"ChannelsDiffer", "", "", {"FixShapes='x:[1,4,8,8];y:[1,4,8,8]'"}},
                     {"AnOutputIsMissing", "", "", {"FixShapes='x:[1,3,8,8]'"}}},
          .sets = {"FixShapes='x:[1,3,8,8];y:[1,3,8,8]'"},
          .outputs = PassOutputs::kChange};
}

const bool kPrepareCases =
    add_pass_cases({pad_into_conv(), pads_as_attribute(), scalars_around_conv(), batch_norm_first(), batch_norm_later(),
                    batch_norm_after_concat(), constants(), no_ops(), listed_initializers(), shared_weights(),
                    shared_biases(), shapes()});

}  // namespace
}  // namespace quarkq::test

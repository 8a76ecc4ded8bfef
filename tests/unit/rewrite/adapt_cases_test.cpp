// SPDX-License-Identifier: MIT
// The five proofs of passes that equalize the float model or substitute operators for the hardware
// (tests/support/pass_case.h).
#include "support/pass_case.h"
#include "support/pass_support.h"

namespace quarkq::test {
namespace {

PassCase reduce_mean() {
  return {
      .pass = "convert-reduce-mean-to-global-avg-pool",
      .name = "OverTheImage",
      .model = "g (float[1, 3, 4, 5] x) => (float[N, C, H, W] y) { y = ReduceMean <axes = [2, 3], keepdims = 1> (x) }",
      .guards = {{"DropsTheAxes", "keepdims = 1", "keepdims = 0"},
                 {"OneAxis", "axes = [2, 3]", "axes = [3]"},
                 {"ThreeAxesOfAnImage", "float[1, 3, 4, 5] x", "float[1, 3, 4, 5, 2] x"},
                 {"IsExcluded", "", "", {"layer_type_config=[{op_types: [ReduceMean], config: null}]"}}},
      .sets = {"QuantizeAllOpTypes=true"}};
}

PassCase large_pool() {
  return {.pass = "split-large-kernel-pool",
          .name = "FortyByTwentyFour",
          .model = "g (float[1, 2, 40, 24] x) => (float[1, 2, 1, 1] y) { r = Relu (x) y = GlobalAveragePool (r) }",
          .guards = {{"IsSmall", "40, 24", "16, 32"},
                     {"HasNoFactors", "40, 24", "23, 523"},
                     {"ReadsTheInput", "r = Relu (x) y = GlobalAveragePool (r)", "y = GlobalAveragePool (x)"},
                     {"IsExcluded", "", "", {"layer_type_config=[{op_types: [GlobalAveragePool], config: null}]"}}},
          .sets = {"QuantizeAllOpTypes=true"}};
}

PassCase split_to_slice() {
  return {.pass = "convert-split-to-slice",
          .name = "TwoParts",
          .model =
              "g (float[1, 8, 2] x) => (float[A, B, C] a, float[D, E, F] b) <int64[2] s = {3, 5}> { a, b = Split <axis "
              "= 1> (x, s) }",
          .guards = {{"PartsAreComputed", "a, b = Split <axis = 1> (x, s)",
                      "t = Neg (s) u = Neg (t) a, b = Split <axis = 1> (x, u)"},
                     {"IsExcluded", "", "", {"layer_type_config=[{op_types: [Split], config: null}]"}}},
          .sets = {"QuantizeAllOpTypes=true"}};
}

PassCase norm_to_conv() {
  return {.pass = "convert-bn-to-conv",
          .name = "Alone",
          .model = cat("g (float[1, 3, 4, 4] x) => (float[N, C, H, W] y) <float[3] gamma = ", numbers(3, 1, 0.5, 2),
                       ", float[3] beta = ", numbers(3, 2), ", float[3] mean = ", numbers(3, 3),
                       ", float[3] var = ", numbers(3, 4, 0.5, 2),
                       "> { r = Relu (x) y = BatchNormalization <epsilon = 0.00001> (r, gamma, beta, mean, var) }"),
          .guards = {{"IsNoImage", "float[1, 3, 4, 4] x", "float[1, 3] x"},
                     {"ReadsTheInput", "r = Relu (x) y = BatchNormalization <epsilon = 0.00001> (r,",
                      "y = BatchNormalization <epsilon = 0.00001> (x,"},
                     {"ScaleIsComputed", "r = Relu (x) y = BatchNormalization <epsilon = 0.00001> (r, gamma,",
                      "k = Neg (gamma) r = Relu (x) y = BatchNormalization <epsilon = 0.00001> (r, k,"},
                     {"IsExcluded", "", "", {"layer_type_config=[{op_types: [BatchNormalization], config: null}]"}}},
          .sets = {"QuantizeAllOpTypes=true"}};
}

PassCase unit_variance() {
  return {.pass = "unit-variance",
          .name = "Tokens",
          .model = cat("g (float[1, 3, 5] x) => (float[N, C, T] y) <float[3] gamma = ", numbers(3, 1, 0.5, 2),
                       ", float[3] beta = ", numbers(3, 2), ", float[3] mean = ", numbers(3, 3),
                       ", float[3] var = {0.001, 2, 30}> "
                       "{ y = BatchNormalization <epsilon = 0.00001> (x, gamma, beta, mean, var) }"),
          .guards = {{"ScaleIsComputed", "y = BatchNormalization <epsilon = 0.00001> (x, gamma,",
                      "k = Neg (gamma) y = BatchNormalization <epsilon = 0.00001> (x, k,"},
                     {"EpsilonIsAsLarge", "epsilon = 0.00001", "epsilon = 0.75"},
                     {"IsExcluded", "", "", {"layer_type_config=[{op_types: [BatchNormalization], config: null}]"}}},
          .sets = {"QuantizeAllOpTypes=true"}};
}

PassCase gemm_beta() {
  return {.pass = "fold-gemm-beta",
          .name = "OneHalf",
          .model = cat("g (float[2, 3] x) => (float[2, 4] y) <float[3, 4] w = ", numbers(12, 1),
                       ", float[4] c = {1, 2, 3, 4}> { y = Gemm <beta = 0.5, alpha = 2.0> (x, w, c) }"),
          .guards = {{"BetaIsOne", "beta = 0.5", "beta = 1.0"},
                     {"BiasIsComputed", "y = Gemm <beta = 0.5, alpha = 2.0> (x, w, c)",
                      "k = Neg (c) y = Gemm <beta = 0.5, alpha = 2.0> (x, w, k)"}}};
}

PassCase node_order() {
  return {.pass = "sort-nodes",
          .name = "TwoBranches",
          .model =
              "g (float[2] x) => (float[2] y) { a = Relu (x) c = Sigmoid (a) b = Neg (x) d = Tanh (b) e = Add (d, c) y "
              "= Relu (e) }",
          .guards = {{"IsInOrder", "c = Sigmoid (a) b = Neg (x) d = Tanh (b) e = Add (d, c)", "e = Sigmoid (a)"}}};
}

PassCase clip6() {
  return {.pass = "replace-clip6-relu",
          .name = "FromZeroToSix",
          .model =
              "g (float[1, 8] x) => (float[1, 8] y) <float low = {0}, float high = {6}, float three = {3}> { y = Clip "
              "(x, low, high) }",
          .guards = {{"LimitIsFive", "high = {6}", "high = {5}"},
                     {"BeginsBelow", "low = {0}", "low = {-0.1}"},
                     {"HasNoUpperLimit", "Clip (x, low, high)", "Clip (x, low)"},
                     {"EndsAHardSwish", "y = Clip (x, low, high)",
                      "a = Add (x, three) c = Clip (a, low, high) m = Mul (x, c) y = Div (m, high)"}},
          .outputs = PassOutputs::kChange};
}

PassCase stem() {
  return {
      .pass = "equalize-stem",
      .name = "OneNormalization",
      .model = cat("g (float[1, 1, 4, 4] x) => (float[N, C, H, W] y) <float[2, 1, 1, 1] w = {1, 0.1}, float[2] g = ",
                   numbers(2, 1, 0.5, 2), ", float[2] b = {1, 2}, float[2] m = ", numbers(2, 2),
                   ", float[2] v = {1, 2}> { c = Conv (x, w) y = BatchNormalization (c, g, b, m, v) }"),
      .guards = {{"HasAnotherReader", "float[N, C, H, W] y)", "float[N, C, H, W] y, float[N, D, K, L] c)"},
                 {"NoNormalization", "y = BatchNormalization (c, g, b, m, v)", "y = Relu (c)"},
                 {"ShiftIsShared", "BatchNormalization (c, g, b, m, v)", "BatchNormalization (c, g, m, m, v)"}}};
}

PassCase layers() {
  return {
      .pass = "cross-layer-equalization",
      .name = "TwoConvs",
      .model = cat("g (float[1, 3, 6, 6] x) => (float[N, M, H, W] y) <float[4, 3, 1, 1] w0 = ", numbers(12, 1, -3, 3),
                   ", float[4] b0 = ", numbers(4, 2), ", float[2, 4, 1, 1] w1 = ", numbers(8, 3),
                   "> { c = Conv <group = 1> (x, w0, b0) m = Relu (c) y = Conv <group = 1> (m, w1) }"),
      .guards = {{"NoScalingPasses", "m = Relu (c)", "m = Sigmoid (c)"},
                 {"HasAnotherReader", "float[N, M, H, W] y)", "float[N, M, H, W] y, float[1, 4, 6, 6] c)"},
                 {"WeightIsComputed", "y = Conv <group = 1> (m, w1)", "k = Neg (w1) y = Conv <group = 1> (m, k)"},
                 {"BiasIsComputed", "c = Conv <group = 1> (x, w0, b0)", "k = Neg (b0) c = Conv <group = 1> (x, w0, k)"},
                 {"IsExcluded", "", "", {"layer_type_config=[{op_types: [Conv], config: null}]"}}},
      .once = true};  // steps towards equal ranges: a second time takes more of them
}

PassCase clipped() {
  return {
      .pass = "equalize-clipped-layers",
      .name = "TwoConvs",
      .model = cat("g (float[1, 3, 6, 6] x) => (float[N, M, H, W] y) <float[4, 3, 1, 1] w0 = ", numbers(12, 1, -3, 3),
                   ", float[4] b0 = ", numbers(4, 2), ", float[2, 4, 1, 1] w1 = ", numbers(8, 3),
                   ", float low = {0}, float high = {600}> "
                   "{ c = Conv <group = 1> (x, w0, b0) m = Clip (c, low, high) y = Conv <group = 1> (m, w1) }"),
      .guards = {{"EveryChannelIsClipped", "high = {600}", "high = {0.001}"},
                 {"BelowZero", "low = {0}", "low = {-1}"},
                 {"NoLimit", "Clip (c, low, high)", "Clip (c, low)"},
                 {"HasAnotherReader", "float[N, M, H, W] y)", "float[N, M, H, W] y, float[1, 4, 6, 6] m)"},
                 {"IsExcluded", "", "", {"layer_type_config=[{op_types: [Conv], config: null}]"}}},
      .sets = {"quarkq.equalize_clipped=true"},
      .start = PassStart::kInOrder};
}

PassCase gated() {
  return {.pass = "fit-gates",
          .name = "TwoConvs",
          .model =
              cat("g (float[1, 3, 6, 6] x) => (float[N, M, H, W] y) <float[4, 3, 1, 1] w0 = ", numbers(12, 1, -3, 3),
                  ", float[4] b0 = ", numbers(4, 2), ", float[2, 4, 1, 1] w1 = ", numbers(8, 3),
                  "> { c = Conv <group = 1> (x, w0, b0) s = Sigmoid (c) m = Mul (c, s) y = Conv <group = 1> (m, w1) }"),
          .guards = {{"HasAnotherReader", "float[N, M, H, W] y)", "float[N, M, H, W] y, float[1, 4, 6, 6] c)"},
                     {"IsExcluded", "", "", {"layer_type_config=[{op_types: [Sigmoid], config: null}]"}}},
          .preset = "XINT8",
          .start = PassStart::kInOrder,
          .outputs = PassOutputs::kChange};
}

PassCase lowest_of_a_mask() {
  return {.pass = "bound-masks",
          .name = "LowestFloat",
          .model =
              "g (float[2, 3] x) => (float[2, 3] y) <float[3] mask = {0, -3.4e38, 0}> { s = Add (x, mask) y = Softmax "
              "(s) }",
          .guards = {{"IsNoExtreme", "-3.4e38", "-1e9"},
                     {"SomethingElseReadsIt", "float[2, 3] y)", "float[2, 3] y, float[2, 3] s)"}}};
}

const bool kAdaptCases =
    add_pass_cases({clipped(), gated(), reduce_mean(), large_pool(), split_to_slice(), norm_to_conv(), unit_variance(),
                    gemm_beta(), node_order(), clip6(), stem(), layers(), lowest_of_a_mask()});

}  // namespace
}  // namespace quarkq::test

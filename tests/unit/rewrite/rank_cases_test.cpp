// SPDX-License-Identifier: MIT
// The five proofs of passes that rewrite a model for the compiler of a target (tests/support/pass_case.h).
#include "support/pass_case.h"
#include "support/pass_support.h"

namespace quarkq::test {
namespace {

const char* const kRankFour = "legalize.most_rank=4";

PassCase channel_shuffle() {
  return {.pass = "merge-transposed-axes",
          .name = "ChannelShuffle",
          .model =
              "g (float[1, 4, 3, 5] x) => (float[1, 4, 3, 5] y) <int64[5] a = {1, 2, 2, 3, 5}, int64[4] b = {1, "
              "4, 3, 5}> "
              "{ r = Reshape (x, a) t = Transpose <perm = [0, 2, 1, 3, 4]> (r) y = Reshape (t, b) }",
          .guards = {{"InnerValueIsAnOutput", "(float[1, 4, 3, 5] y)", "(float[1, 4, 3, 5] y, float[A, B, C, D, E] t)"},
                     {"InnerValueHasAnotherReader", "y = Reshape (t, b)",
                      "s = Reshape (t, b) m = ReduceMax <keepdims = 0> (t) y = Add (s, m)"},
                     {"RankIsLowEnough", "", "", {"legalize.most_rank=5"}},
                     {"SizeIsUnknown", "float[1, 4, 3, 5] x", "float[N, 4, 3, 5] x"},
                     {"EndsInNoView", "y = Reshape (t, b)", "q = Relu (t) y = Reshape (q, b)"},
                     {"BeginsInNoView", "t = Transpose <perm = [0, 2, 1, 3, 4]> (r)",
                      "q = Relu (r) t = Transpose <perm = [0, 2, 1, 3, 4]> (q)"}},
          .sets = {kRankFour},
          .tolerance = 0};
}

PassCase packed_heads() {
  return {
      .pass = "select-before-transpose",
      .name = "QueriesKeysAndValues",
      .model =
          "g (float[1, 5, 12] x) => (float[1, 2, 5, 2] y) <int64[5] a = {1, 5, 3, 2, 2}, int64 q = {0}, int64 k = "
          "{1}, int64 v = {-1}> "
          "{ r = Reshape (x, a) t = Transpose <perm = [2, 0, 3, 1, 4]> (r) f = Gather <axis = 0> (t, q) "
          "g = Gather <axis = 0> (t, k) h = Gather <axis = 0> (t, v) s = Add (f, g) y = Mul (s, h) }",
      .guards = {{"InnerValueIsAnOutput", "(float[1, 2, 5, 2] y)", "(float[1, 2, 5, 2] y, float[A, B, C, D, E] t)"},
                 {"OtherReader", "y = Mul (s, h)", "z = Mul (s, h) m = ReduceMax <keepdims = 0> (t) y = Add (z, m)"},
                 {"SeveralElements", "int64 q = {0}", "int64[1] q = {0}"},
                 {"RankIsLowEnough", "", "", {"legalize.most_rank=5"}},
                 {"SizeIsUnknown", "float[1, 5, 12] x", "float[N, 5, 12] x"}},
      .sets = {kRankFour},
      .tolerance = 0};
}

PassCase packed_heads_by_split() {
  return {.pass = "select-before-transpose",
          .name = "SplitAndSqueeze",
          .model =
              "g (float[1, 5, 12] x) => (float[1, 2, 5, 2] y) <int64[5] a = {1, 5, 3, 2, 2}, int64[3] ones = {1, 1, "
              "1}, int64[1] first = {0}> "
              "{ r = Reshape (x, a) t = Transpose <perm = [2, 0, 3, 1, 4]> (r) b, c, d = Split <axis = 0> (t, ones) "
              "f = Squeeze (b, first) g = Squeeze (c, first) h = Squeeze (d, first) s = Add (f, g) y = Mul (s, h) }",
          .guards = {{"SqueezesAnotherAxis", "h = Squeeze (d, first) s", "i = Neg (d) h = Squeeze (i, first) s"},
                     {"AxisIsInside", "int64[5] a = {1, 5, 3, 2, 2}", "int64[5] a = {1, 5, 2, 2, 3}"}},
          .sets = {kRankFour},
          .tolerance = 0};
}

// Single elements of an axis as exporters on torch.export write them.
PassCase packed_heads_by_slices() {
  return {.pass = "select-before-transpose",
          .name = "SlicesAndSqueezes",
          .model =
              "g (float[1, 5, 12] x) => (float[1, 2, 5, 2] y) <int64[5] a = {1, 5, 3, 2, 2}, int64[1] zero = {0}, "
              "int64[1] one = {1}, int64[1] two = {2}, int64[1] last = {-1}, int64[1] end = {9223372036854775807}> "
              "{ r = Reshape (x, a) t = Transpose <perm = [2, 0, 3, 1, 4]> (r) b = Slice (t, zero, one, zero) "
              "c = Slice (t, one, two, zero, one) d = Slice (t, last, end, zero) f = Squeeze (b, zero) "
              "g = Squeeze (c, zero) h = Squeeze (d, zero) s = Add (f, g) y = Mul (s, h) }",
          .guards = {{"SeveralElements", "b = Slice (t, zero, one, zero)",
                      "e = Slice (t, zero, two, zero) b = ReduceMax <keepdims = 1> (e, zero)"},
                     {"StepIsNotOne", "c = Slice (t, one, two, zero, one)", "c = Slice (t, one, two, zero, two)"},
                     {"SqueezesAnotherAxis", "h = Squeeze (d, zero) s", "i = Neg (d) h = Squeeze (i, zero) s"},
                     {"EmptyPart", "d = Slice (t, last, end, zero)",
                      "n = Slice (t, end, end, zero) d = Concat <axis = 0> (n, b)"}},
          .sets = {kRankFour},
          .tolerance = 0};
}

PassCase pixel_unshuffle() {
  return {.pass = "merge-transposed-axes",
          .name = "PixelUnshuffle",
          .model =
              "g (float[1, 4, 6, 10] x) => (float[1, 16, 3, 5] y) <int64[6] a = {1, 4, 3, 2, 5, 2}, int64[4] b = "
              "{1, 16, 3, 5}> "
              "{ r = Reshape (x, a) t = Transpose <perm = [0, 1, 3, 5, 2, 4]> (r) y = Reshape (t, b) }",
          .guards = {{"RankIsLowEnough", "", "", {"legalize.most_rank=6"}}},
          .sets = {kRankFour},
          .tolerance = 0};
}

PassCase windows() {
  return {.pass = "merge-transposed-axes",
          .name = "WindowsInTwoTransposes",
          .model =
              "g (float[2, 8, 8, 3] x) => (float[8, 16, 3] y) <int64[6] a = {2, 2, 4, 2, 4, 3}, int64[3] b = {8, "
              "16, 3}> "
              "{ r = Reshape (x, a) s = Transpose <perm = [5, 0, 1, 3, 2, 4]> (r) "
              "t = Transpose <perm = [1, 2, 3, 4, 5, 0]> (s) y = Reshape (t, b) }",
          .guards = {{"ValueBetweenHasAnotherReader", "y = Reshape (t, b)",
                      "v = Reshape (t, b) m = ReduceMax <keepdims = 0> (s) y = Add (v, m)"}},
          .sets = {kRankFour},
          .tolerance = 0};
}

PassCase scores() {
  return {.pass = "einsum-to-matmul",
          .name = "Scores",
          .model =
              "g (float[3, 3, 4, 5] q, float[3, 3, 6, 5] k) => (float[] y) { y = Einsum <equation = "
              "\"bhid,bhjd->bhij\"> (q, k) }",
          .guards = {{"HasAnEllipsis", "bhid,bhjd->bhij", "...id,...jd->...ij"},
                     {"RepeatsALetter", "bhid,bhjd->bhij", "bbid,bbjd->bij"},
                     {"SumsOverOneTerm", "bhid,bhjd->bhij", "bhid,bhjd->bhj"},
                     {"StretchesAnAxis", "float[3, 3, 6, 5] k", "float[1, 3, 6, 5] k"},
                     {"SizeIsUnknown", "float[3, 3, 4, 5] q", "float[N, 3, 4, 5] q"},
                     {"HasThreeTerms", "equation = \"bhid,bhjd->bhij\"> (q, k)",
                      "equation = \"bhid,bhjd,bhjd->bhij\"> (q, k, k)"}},
          .sets = {kRankFour}};
}

PassCase stored_matrix() {
  return {.pass = "einsum-to-matmul",
          .name = "StoredMatrix",
          .model = cat("g (float[2, 3, 4] x) => (float[] y) <float[5, 4] w = ", numbers(20, 1),
                       "> { [product] y = Einsum <equation = \"abc,dc->abd\"> (x, w) }"),
          .guards = {{"IsNoEinsum", "[product] y = Einsum <equation = \"abc,dc->abd\"> (x, w)", "y = Relu (x)"}},
          .sets = {kRankFour}};
}

PassCase turned() {
  return {.pass = "einsum-to-matmul",
          .name = "OneTerm",
          .model = "g (float[2, N, 4] x) => (float[] y) { y = Einsum <equation = \"abc -> cab\"> (x) }",
          .guards = {{"SumsALetter", "abc -> cab", "abc -> ca"},
                     {"TakesTheDiagonal", "x) => (float[] y) { y = Einsum <equation = \"abc -> cab\"> (x) }",
                      "x, float[3, 3] z) => (float[] y) { y = Einsum <equation = \"aa -> a\"> (z) }"}},
          .sets = {kRankFour},
          .outputs = PassOutputs::kChange};  // not for static shapes alone: einsum_to_matmul_test.cpp has the values
}

PassCase one_slope() {
  return {.pass = "prelu-to-leaky-relu",
          .name = "EqualSlopes",
          .model =
              "g (float[1, 3, 2, 2] x) => (float[1, 3, 2, 2] y) <float[3, 1, 1] s = {0.25, 0.25, 0.25}> { [act] y "
              "= PRelu (x, s) }",
          .guards = {{"SlopeIsComputed", "[act] y = PRelu (x, s)", "k = Neg (s) y = PRelu (x, k)"},
                     {"SlopeMayBeFed", "(float[1, 3, 2, 2] x)", "(float[1, 3, 2, 2] x, float[3, 1, 1] s)"}},
          .sets = {"legalize.prelu_to_leaky_relu=true"},
          .tolerance = 0};
}

PassCase slopes() {
  return {.pass = "prelu-to-leaky-relu",
          .name = "SlopeOfEachChannel",
          .model =
              "g (float[1, 3, 2, 2] x) => (float[1, 3, 2, 2] y) <float[3, 1, 1] s = {0.25, -0.5, 2}> { [act] y = "
              "PRelu (x, s) }",
          .guards = {{"SlopeIsComputed", "[act] y = PRelu (x, s)", "k = Neg (s) y = PRelu (x, k)"}},
          .sets = {"legalize.prelu_to_leaky_relu=true"},
          .tolerance = 0};
}

PassCase rolled() {
  return {.pass = "positive-slice-bounds",
          .name = "Roll",
          .model =
              "g (float[1, 2, 6, 3] x) => (float[1, 2, 6, 3] y) <int64[1] a = {-2}, int64[1] b = {9999}, int64[1] c = "
              "{0}, int64[1] k = {2}> { p = Slice (x, a, b, k) q = Slice (x, c, a, k) y = Concat <axis = 2> (p, q) }",
          .guards = {{"BoundIsPositive", "a = {-2}", "a = {4}"},
                     {"BoundIsComputed", "p = Slice (x, a, b, k) q = Slice (x, c, a, k)",
                      "e = Abs (b) n = Neg (k) p = Slice (x, n, e, k) q = Slice (x, c, n, k)"}},
          .sets = {"legalize.positive_slice_bounds=true"},
          .tolerance = 0};
}

PassCase norm_of_rank_3() {
  return {.pass = "normalization-at-rank-4",
          .name = "LayerNorm",
          .model =
              "g (float[2, 3, 4] x) => (float[2, 3, 4] y) <float[4] s = {1, 2, 3, 4}, float[4] b = {1, 0, -1, 0.5}> "
              "{ [norm] y = LayerNormalization <axis = 2> (x, s, b) }",
          .guards = {{"RankIsFour", "(float[2, 3, 4] x) => (float[2, 3, 4] y)",
                      "(float[1, 2, 3, 4] x) => (float[N, M, 3, 4] y)"},
                     {"ShapeIsNotKnown", "(float[2, 3, 4] x)", "(float[2, N, 4] x)"},
                     {"StatisticsAreRead", "[norm] y = LayerNormalization <axis = 2> (x, s, b)",
                      "z, m = LayerNormalization <axis = 2> (x, s, b) y = Add (z, m)"}},
          .sets = {"legalize.normalization_at_rank_4=true"},
          .tolerance = 0};
}

PassCase norm_of_rows() {
  const char* node = "[norm] y = LayerNormalization <axis = -1, epsilon = 0.01> (x, s, b)";
  return {.pass = "layer-norm-to-instance-norm",
          .name = "LastAxis",
          .model = cat("g (float[2, 3, 4] x) => (float[2, 3, 4] y) <float[4] s = {1, 2, 3, 4}, float[4] b = {1, 0, -1, "
                       "0.5}> { ",
                       node, " }"),
          .guards = {{"ShapeIsNotKnown", "(float[2, 3, 4] x)", "(float[2, N, 4] x)"},
                     {"RowsAreTooMany", "(float[2, 3, 4] x) => (float[2, 3, 4] y)",
                      "(float[2, 40000, 4] x) => (float[2, 40000, 4] y)"},
                     {"OtherOperator", node, "y = Relu (x)"},
                     {"StatisticsAreRead", node, "z, m = LayerNormalization (x, s, b) y = Add (z, m)"}},
          .sets = {"legalize.layer_norm_to_instance_norm=true"}};
}

PassCase norm_without_bias() {
  return {.pass = "layer-norm-to-instance-norm",
          .name = "NoBias",
          .model =
              "g (float[3, 2, 2] x) => (float[3, 2, 2] y) <float[2, 2] s = {1, 2, 3, 4}> "
              "{ [norm] y = LayerNormalization <axis = 1> (x, s) }",
          .guards = {{"AxisIsNone", "axis = 1", "axis = 7"}},
          .sets = {"legalize.layer_norm_to_instance_norm=true"}};
}

PassCase axes_of_pad() {
  return {.pass = "spell-out-axes",
          .name = "Pad",
          .model =
              "g (float[1, 3, 6, 6] x) => (float[N, C, H, W] y) <int64[2] pads = {1, 2}, int64[1] axes = "
              "{-1}> { y = Pad (x, pads, , axes) }",
          .guards = {{"HasNoAxes", "<int64[2] pads = {1, 2}, int64[1] axes = {-1}> { y = Pad (x, pads, , axes) }",
                      "<int64[8] pads = {0, 0, 0, 1, 0, 0, 0, 2}> { y = Pad (x, pads) }"},
                     {"PadsAreComputed", "y = Pad (x, pads, , axes)", "k = Abs (pads) y = Pad (x, k, , axes)"}},
          .opset = 18,
          .tolerance = 0};
}

PassCase conv_attributes() {
  return {.pass = "explicit-conv-attributes",
          .name = "None",
          .model = cat("g (float[1, 3, 6, 6] x) => (float[N, C, H, W] y) <float[2, 3, 3, 3] w = ", numbers(54, 1),
                       ", int64[3] a = {0, 1, 2}> { y = Conv (x, w) }"),
          .guards = {{"HasAllFive", "Conv (x, w)",
                      "Conv <strides = [1, 1], pads = [0, 0, 0, 0], dilations = [1, 1], kernel_shape = [3, 3], group = "
                      "1> (x, w)"},
                     {"KernelIsUnknown", "y = Conv (x, w)", "u = Unique (w) k = Unsqueeze (u, a) y = Conv (x, k)"},
                     {"StridesAreOfAnotherRank", "Conv (x, w)", "Conv <strides = [1]> (x, w)"},
                     {"IsNoConv", "y = Conv (x, w)", "y = Relu (x)"}},
          .tolerance = 0};
}

PassCase same_pads() {
  return {.pass = "explicit-conv-attributes",
          .name = "SameUpper",
          .model = cat("g (float[1, 3, 7, 6] x) => (float[N, C, H, W] y) <float[2, 3, 3, 3] w = ", numbers(54, 1),
                       "> { y = Conv <auto_pad = \"SAME_UPPER\", strides = [2, 2]> (x, w) }"),
          .guards = {{"IsNoConv", "Conv <auto_pad = \"SAME_UPPER\", strides = [2, 2]> (x, w)", "Relu (x)"}},
          .tolerance = 0};
}

PassCase opset_of_target() {
  return {.pass = "legalize-opset",
          .name = "FromSeventeen",
          .model = "g (float[1, 3, 4, 5] x) => (float[N, C, H, W] y) { y = ReduceMean <axes = [2, 3]> (x) }",
          .guards = {{"IsThereAlready", "", "", {"legalize.opset=17"}},
                     {"UserAsksForAnother", "", "", {"ConvertOpsetVersion=18"}}},
          .sets = {"legalize.opset=18"}};
}

const bool kRankCases = add_pass_cases(
    {packed_heads(), packed_heads_by_split(), packed_heads_by_slices(), channel_shuffle(), pixel_unshuffle(), windows(),
     scores(), stored_matrix(), turned(), one_slope(), slopes(), rolled(), norm_of_rank_3(), norm_of_rows(),
     norm_without_bias(), axes_of_pad(), conv_attributes(), same_pads(), opset_of_target()});

}  // namespace
}  // namespace quarkq::test

// SPDX-License-Identifier: MIT
// The five proofs of passes that convert, simplify and smooth the model as a whole (tests/support/pass_case.h).
#include "support/pass_case.h"
#include "support/pass_support.h"

namespace quarkq::test {
namespace {

PassCase newer_opset() {
  return {.pass = "convert-opset-version",
          .name = "FromSeventeen",
          .model = "g (float[1, 3, 4, 5] x) => (float[N, C, H, W] y) { y = ReduceMean <axes = [2, 3]> (x) }",
          .guards = {{"IsThereAlready", "", "", {"ConvertOpsetVersion=17"}}},
          .sets = {"ConvertOpsetVersion=18"}};
}

/// The text form gives float16 as bits: 13312 is 0.25. A model of float16 inputs has no random inputs.
PassCase wider_floats() {
  return {
      .pass = "convert-fp16-to-fp32",
      .name = "InputConstantAndOutput",
      .model =
          "g (float16[1, 4] x) => (float16[1, 4] y) <float16[4] b = {14336, 48128, 16384, 13312}> { y = Add (x, b) }",
      .guards =
          {{"IsFloatAlready",
            "g (float16[1, 4] x) => (float16[1, 4] y) <float16[4] b = {14336, 48128, 16384, 13312}> { y = Add (x, b) }",
            "g (float[1, 4] x) => (float[1, 4] y) { y = Add (x, x) }"}},
      .outputs = PassOutputs::kChange};
}

PassCase widened_part() {
  return {
      .pass = "widen-float16-parts",
      .name = "PartBetweenCasts",
      .model =
          "g (float[1, 4] x) => (float[1, 4] y) { [half] h = Cast <to = 10> (x) r = Relu (h) y = Cast <to = 1> (r) }",
      .guards = {{"NoPart", "[half] h = Cast <to = 10> (x)", "h = Identity (x)"}},
      .tolerance = 1e-2};
}

PassCase widened_inside() {
  return {
      .pass = "widen-float16-parts",
      .name = "BordersKeepTheirType",
      .model =
          "g (float16[1, 4] x, float[1, 4] z) => (float16[1, 4] y) { r = Relu (x) f = Cast <to = 1> (r) "
          "a = Add (f, z) h = Cast <to = 10> (a) y = Relu (h) }",
      .guards = {{"CastsOnly", "r = Relu (x) f = Cast <to = 1> (r) a = Add (f, z) h = Cast <to = 10> (a) y = Relu (h)",
                  "f = Cast <to = 1> (x) a = Add (f, z) y = Cast <to = 10> (a)"}},
      .outputs = PassOutputs::kChange};
}

PassCase channels_last() {
  return {.pass = "convert-nchw-to-nhwc",
          .name = "InputAndOutput",
          .model = "g (float[1, 2, 5, 6] x) => (float[1, 2, 5, 6] y) { y = Relu (x) }",
          .guards = {{"NoImages", "g (float[1, 2, 5, 6] x) => (float[1, 2, 5, 6] y)",
                      "g (float[2, 5, 6] x) => (float[2, 5, 6] y)"}},
          .outputs = PassOutputs::kChange};
}

PassCase raised_for_channels() {
  return {.pass = "raise-opset",
          .name = "TenPerChannel",
          .model = "g (float[2] x) => (float[2] y) { a = Sigmoid (x) y = Relu (a) }",
          .guards = {{"PerTensor", "", "", {"per_channel=false"}}},
          .sets = {"per_channel=true"},
          .opset = 10};
}

PassCase simplified() {
  return {.pass = "simplify-model",
          .name = "ShapeThatIsKnown",
          .model = "g (float[2, 3] x) => (float[A, B] y) { s = Shape (x) r = Relu (x) y = Reshape (r, s) }",
          .guards = {{"NothingToDo", "s = Shape (x) r = Relu (x) y = Reshape (r, s)", "y = Relu (x)"}}};
}

PassCase optimized() {
  return {.pass = "optimize-basic",
          .name = "ConvAndMul",
          .model = cat("g (float[1, 2, 4, 4] x) => (float[N, C, H, W] y) <float[3, 2, 1, 1] w = ", numbers(6, 1),
                       ", float[3] b = ", numbers(3, 2), ", float[3, 1, 1] f = ", numbers(3, 3),
                       "> { c = Conv (x, w, b) y = Mul (c, f) }"),
          .guards = {{"HasAnotherReader", "float[N, C, H, W] y)", "float[N, C, H, W] y, float[N, D, K, L] c)"},
                     {"NoFactor", "y = Mul (c, f)", "y = Sigmoid (c)"}}};
}

/// Every second row and column of an image, with these starts of the second and third Slice.
std::string focus(const std::string& second, const std::string& third) {
  return cat("g (float[1, 3, 6, 4] x) => (float[N, C, H, W] y) <int64[2] s0 = {0, 0}, int64[2] s1 = ", second,
             ", int64[2] s2 = ", third,
             ", int64[2] s3 = {1, 1}, int64[2] e = {6, 4}, int64[2] a = {2, -1}, int64[2] t = {2, 2}> { "
             "p = Slice (x, s0, e, a, t) q = Slice (x, s1, e, a, t) r = Slice (x, s2, e, a, t) "
             "u = Slice (x, s3, e, a, t) y = Concat <axis = 1> (p, q, r, u) }");
}

PassCase focused() {
  return {.pass = "optimize-basic",
          .name = "FocusInOrder",
          .model = focus("{0, 1}", "{1, 0}"),
          .guards = {{"HasAnotherReader", "float[N, C, H, W] y)", "float[N, C, H, W] y, float[N, D, K, L] q)"},
                     {"TakesAPartTwice", "s1 = {0, 1}", "s1 = {0, 0}"},
                     {"JoinsRows", "axis = 1", "axis = 2"},
                     {"ReadsAnotherImage", "u = Slice (x,", "n = Sin (x) u = Slice (n,"},
                     {"CutsRowsOff", "e = {6, 4}", "e = {4, 4}"}}};
}

PassCase focused_in_another_order() {
  return {.pass = "optimize-basic",
          .name = "FocusReordered",
          .model = focus("{1, 0}", "{0, 1}"),
          .guards = {{"ChannelsAreUnknown", "float[1, 3, 6, 4] x", "float[1, C, 6, 4] x"}}};
}

/// Rows first, columns of both halves then; one half has another reader.
PassCase focused_by_axes() {
  return {.pass = "optimize-basic",
          .name = "FocusByAxes",
          .model =
              "g (float[1, 2, 4, 6] x) => (float[N, C, H, W] y, float[N, D, K, L] z) <int64[1] zero = {0}, "
              "int64[1] one = {1}, int64[1] e = {9223372036854775807}, int64[1] h = {2}, int64[1] w = {3}, "
              "int64[1] t = {2}> { m = Slice (x, zero, e, h, t) n = Slice (x, one, e, h, t) z = Sin (n) "
              "p = Slice (m, zero, e, w, t) q = Slice (m, one, e, w, t) r = Slice (n, zero, e, w, t) "
              "u = Slice (n, one, e, w, t) y = Concat <axis = -3> (p, q, r, u) }",
          .guards = {{"StridesRowsTwice", "u = Slice (n, one, e, w, t)", "u = Slice (n, zero, e, h, t)"}}};
}

PassCase smoothed() {
  return {.pass = "smooth-quant",
          .name = "OneProduct",
          .model = cat("g (float[4, 8] x) => (float[4, 6] y) <float[8, 6] w = ", numbers(48, 1),
                       "> { [product] y = MatMul (x, w) }"),
          .guards = {{"NoProduct", "[product] y = MatMul (x, w)", "[product] y = Relu (x)"}},
          .sets = {"include_sq=true"},
          .start = PassStart::kInOrder,
          .tolerance = 1e-4,
          .once = true};  // it moves ranges from activations to weights as they are: a second time moves what is left
}

/// RConfigPath: which nodes come before and after the norms of the residual stream.
std::string pairs_in(const std::string& file) {
  return cat("RConfigPath=", QUARKQ_SOURCE_DIR, "/tests/unit/rewrite/", file);
}

/// embed -> RMS norm -> head, on a stream of 4 channels.
PassCase rotated() {
  return {.pass = "rotate-weights",
          .name = "OneNorm",
          .model = cat("g (float[5, 6] x) => (float[5, 3] y) <float[6, 4] e = ", numbers(24, 1),
                       ", float[4, 3] h = ", numbers(12, 2), ", float[4] s = ", numbers(4, 3, 0.5, 2),
                       ", float[1] eps = {0.00001}> { [embed] a = MatMul (x, e) q = Mul (a, a) "
                       "m = ReduceMean <axes = [-1]> (q) p = Add (m, eps) r = Sqrt (p) d = Div (a, r) "
                       "[n] f = Mul (d, s) [head] y = MatMul (f, h) }"),
          .guards = {{"NoPairs", "", "", {pairs_in("no_rotated_pairs.json")}}},
          .sets = {"include_rotation=true", "RMatrixDim=4", pairs_in("rotated_pairs.json")},
          .tolerance = 1e-4,
          .once = true};  // a second rotation of the same stream is another rotation
}

const bool kConvertCases = add_pass_cases({newer_opset(), wider_floats(), widened_part(), widened_inside(),
                                           channels_last(), raised_for_channels(), simplified(), optimized(), focused(),
                                           focused_in_another_order(), focused_by_axes(), smoothed(), rotated()});

}  // namespace
}  // namespace quarkq::test

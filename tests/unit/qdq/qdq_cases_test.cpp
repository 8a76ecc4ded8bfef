// SPDX-License-Identifier: MIT
// The five proofs of passes on models with Q and DQ nodes (tests/support/pass_case.h).
#include "support/pass_case.h"
#include "support/pass_support.h"

namespace quarkq::test {
namespace {

const char* const kInt16Types = "activation_type=ExtendedQuantType.QInt16";
const std::string kConv = cat("g (float[1, 2, 4, 4] x) => (float[1, 3, 4, 4] y) <float[3, 2, 1, 1] w = ", numbers(6, 1),
                              ", float[3] b = ", numbers(3, 2), "> ");

PassCase microscaling() {
  return {.pass = "standard-mx",
          .name = "MatMul",
          .model = cat("g (float[2, 64] x) => (float[2, 3] y) <float[64, 3] w = ", numbers(192, 1),
                       "> { y = MatMul (x, w) }"),
          .guards = {{"IsExcluded", "", "", {"layer_type_config=[{op_types: [MatMul], config: null}]"}}},
          .preset = "MXINT8",
          .sets = {"quarkq.mx_form=standard"},
          .start = PassStart::kInOrder,
          .tolerance = 0};
}

PassCase dedicated() {
  return {
      .pass = "dedicate-dq-node",
      .name = "TwoReaders",
      .model =
          "g (float[4] x) => (float[4] y, float[4] u) <float s = {0.02}, int8 z = {0}> "
          "{ q = QuantizeLinear (x, s, z) d = DequantizeLinear (q, s, z) y = Mul (d, d) u = Neg (d) }",
      .guards = {{"OneReader", "q = QuantizeLinear (x, s, z) d = DequantizeLinear (q, s, z) y = Mul (d, d) u = Neg (d)",
                  "u = Neg (x) q = QuantizeLinear (x, s, z) d = DequantizeLinear (q, s, z) y = Mul (d, d)"}},
      .tolerance = 0};
}

PassCase clip() {
  return {.pass = "convert-clip-to-relu",
          .name = "FromZero",
          .model = "g (float[8] x) => (float[8] y) <float low = {0}, float high = {6}> { y = Clip (x, low, high) }",
          .guards = {{"BeginsBelow", "low = {0}", "low = {-1}"},
                     {"BeginsAbove", "low = {0}", "low = {0.5}"},
                     {"HasNoLowerLimit", "Clip (x, low, high)", "Clip (x, , high)"},
                     {"LimitIsComputed", "y = Clip (x, low, high)",
                      "l = ReduceMax <keepdims = 0> (x) y = Clip (x, l, high)"},
                     {"IsExcluded", "", "", {"layer_type_config=[{op_types: [Clip], config: null}]"}}},
          .outputs = PassOutputs::kChange};
}

/// int8 with a step of 6 / 127 ends at 6.
PassCase saturating_clip() {
  return {
      .pass = "saturate-clips",
      .name = "EndsAtTheLimit",
      .model =
          "g (float[64] x) => (float[64] y) <float low = {0}, float high = {0.6}, float s = {0.004724409}, int8 z = "
          "{0}> { c = Clip (x, low, high) q = QuantizeLinear (c, s, z) y = DequantizeLinear (q, s, z) }",
      .guards = {{"EndsAbove", "s = {0.004724409}", "s = {0.0078125}"},
                 {"BeginsBelow", "low = {0}", "low = {-1}"},
                 {"HasAnotherReader", "y = DequantizeLinear (q, s, z)",
                  "d = DequantizeLinear (q, s, z) y = Add (c, d)"},
                 {"HasNoPair", "q = QuantizeLinear (c, s, z) y = DequantizeLinear (q, s, z)", "y = Neg (c)"}},
      .sets = {"legalize.clip_to_relu=true"},
      .tolerance = 0};
}

PassCase last_view() {
  return {
      .pass = "quantize-edges",
      .name = "LastViews",
      .model =
          "g (float[1, 4, 1, 1] x) => (float[1, 4] y) <float s = {0.02}, int8 z = {0}, int64[3] shape = {1, 2, 2}> "
          "{ q = QuantizeLinear (x, s, z) d = DequantizeLinear (q, s, z) r = Reshape (d, shape) y = Flatten (r) }",
      .guards = {{"ComputesValues", "r = Reshape (d, shape) y = Flatten (r)", "r = Relu (d) y = Flatten (r)"},
                 {"IsFloatBefore", "q = QuantizeLinear (x, s, z) d = DequantizeLinear (q, s, z) r = Reshape (d, shape)",
                  "r = Reshape (x, shape)"}},
      .sets = {"legalize.quantized_edges=true"},
      .tolerance = 0};
}

PassCase one_quantizer() {
  return {.pass = "merge-input-quantizers",
          .name = "TwoOfOneInput",
          .model =
              "g (float[4] x) => (float[4] y) <float s = {0.02}, int8 z = {0}, float t = {0.02}> "
              "{ q = QuantizeLinear (x, s, z) d = DequantizeLinear (q, s, z) r = QuantizeLinear (x, t, z) "
              "e = DequantizeLinear (r, t, z) n = Neg (d) y = Add (n, e) }",
          .guards = {{"OtherScale", "t = {0.02}", "t = {0.03}"}},
          .sets = {"legalize.one_input_quantizer=true"},
          .tolerance = 0};
}

PassCase bfloat_row(const std::string& pass, const std::string& name, std::vector<std::string> sets) {
  return {.pass = pass,
          .name = name,
          .model = kConv + "{ c = Conv (x, w, b) y = Relu (c) }",
          .guards = {{"Integers", "", "", {kInt16Types, "weight_type=QuantType.QInt8"}}},
          .preset = "BF16",
          .sets = std::move(sets),
          .start = PassStart::kInOrder};
}

PassCase shown_types() {
  return {.pass = "fill-all-value-info",
          .name = "ShapeThatDependsOnData",
          .model = "g (float[3, 2] x) => (int64[R, N] y) { y = NonZero (x) }",
          .guards = {{"AllIsKnown", "(int64[R, N] y) { y = NonZero (x) }", "(float[3, 2] y) { y = Relu (x) }"}}};
}

PassCase dynamic() {
  return {
      .pass = "emit-dynamic",
      .name = "Product",
      .model = cat("g (float[2, 4] x) => (float[2, 4] y) <float[4, 4] w = ", numbers(16, 1), "> { y = MatMul (x, w) }"),
      .guards = {{"IsExcluded", "", "", {"layer_type_config=[{op_types: [MatMul], config: null}]"}},
                 {"NoProduct", "y = MatMul (x, w)", "y = Relu (x)"}},
      .preset = "UINT8_DYNAMIC_QUANT",
      .tolerance = 0.05};
}

PassCase nibbles() {
  return {.pass = "quantize-matmul-nbits",
          .name = "Product",
          .model = cat("g (float[2, 32] x) => (float[2, 8] y) <float[32, 8] w = ", numbers(256, 1),
                       "> { y = MatMul (x, w) }"),
          .guards = {{"IsExcluded", "", "", {"layer_type_config=[{op_types: [MatMul], config: null}]"}},
                     {"WeightIsComputed", "y = MatMul (x, w)", "k = Neg (w) y = MatMul (x, k)"},
                     {"NoProduct", "y = MatMul (x, w)", "y = Relu (x)"}},
          .preset = "MATMUL_NBITS",
          .sets = {"MatMulNBitsParams.GroupSize=32"},
          .outputs = PassOutputs::kChange};
}

PassCase pairs() {
  return {.pass = "write-qdq",
          .name = "ConvAndRelu",
          .model = kConv + "{ c = Conv (x, w, b) y = Relu (c) }",
          .guards = {{"NothingIsQuantized", "", "", {"layer_type_config=[{op_types: [Conv, Relu], config: null}]"}}},
          .start = PassStart::kInOrder,
          .tolerance = 0.05};
}

PassCase integer_operators() {
  return {.pass = "write-integer-operators",
          .name = "ConvAndRelu",
          .model = kConv + "{ c = Conv (x, w, b) y = Relu (c) }",
          .guards = {{"IsExcluded", "", "", {"layer_type_config=[{op_types: [Conv, Relu], config: null}]"}},
                     {"NoOperatorOnIntegers",
                      "c = Conv (x, w, b) y = Relu (c)",
                      "c = Exp (x) y = Conv (c, w, b)",
                      {"op_types_to_quantize=[Exp]"}}},
          .sets = {"quant_format=QuantFormat.QOperator"},
          .start = PassStart::kInOrder,
          .tolerance = 0.01};
}

/// A float16 model after quantization, none of whose nodes is excluded.
PassCase float32_inside() {
  return {.pass = "use-fp32-scale",
          .name = "Relu",
          .model = "g (float16[4] x) => (float16[4] y) { [only] y = Relu (x) }",
          .guards = {{"IsFloat32", "(float16[4] x) => (float16[4] y)", "(float[4] x) => (float[4] y)"},
                     {"IsExcluded", "", "", {"nodes_to_exclude=[only]"}}}};
}

/// A model that was quantized before: there is no plan.
PassCase imported_biases() {
  return {.pass = "int16-bias",
          .name = "Imported",
          .model = cat("g (float[1, 2, 4, 4] x) => (float[1, 3, 4, 4] y) <float[3, 2, 1, 1] w = ", numbers(6, 1),
                       ", int32[3] c = {10, -20, 30}, float s = {0.01}, int32 z = {0}> "
                       "{ b = DequantizeLinear (c, s, z) y = Conv (x, w, b) }"),
          .guards = {{"NoBias", "b = DequantizeLinear (c, s, z) y = Conv (x, w, b)", "y = Conv (x, w)"},
                     {"NoZeroPoint", "DequantizeLinear (c, s, z)", "DequantizeLinear (c, s)"}},
          .opset = 21,
          .tolerance = 0};
}

PassCase dropped_casts() {
  return {.pass = "drop-bf16-casts",
          .name = "BetweenOperators",
          .model =
              "g (float[4] x) => (float[4] y) { a = Relu (x) b = Cast <to = 16> (a) c = Cast <to = 1> (b) "
              "y = Neg (c) }",
          .guards = {{"ReadsAnInput", "b = Cast <to = 16> (a)", "b = Cast <to = 16> (x)"},
                     {"OtherType", "to = 16", "to = 10"}},
          .tolerance = 0.01};
}

const bool kQdqCases = add_pass_cases({microscaling(), float32_inside(), imported_biases(), dropped_casts(),
                                       dedicated(), clip(), saturating_clip(), last_view(), one_quantizer(),
                                       bfloat_row("bf16-qdq-to-cast", "Pairs", {"BF16QDQToCast=true"}),
                                       bfloat_row("bf16-with-clip", "Activations", {"BF16WithClip=true"}),
                                       shown_types(), dynamic(), nibbles(), pairs(), integer_operators()});

}  // namespace
}  // namespace quarkq::test

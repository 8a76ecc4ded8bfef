// SPDX-License-Identifier: MIT
// One model for each known crash or silent failure that a model can show, with the rule that finds it, and the same
// model without its cause.
#include <gtest/gtest.h>

#include "support/target_models.h"

namespace quarkq {
namespace {

using test::QuantizedText;

struct Thread {
  const char* name;
  const char* target;
  const char* rule;
  const char* effect;
  const char* remedy;
  ir::Model (*bad)();
  ir::Model (*good)();  ///< null: nothing that a small change would cure
};

ir::Model of(const std::string& body, const std::vector<std::string>& domains = {}, int opset = 17) {
  return test::target_model(body, domains, opset);
}

constexpr const char kAttributes[] =
    "<strides = [1, 1], pads = [0, 0, 0, 0], dilations = [1, 1], kernel_shape = [1, 1], group = 1>";

std::string convs(const std::string& attributes) {
  return cat("{ a = Conv", attributes, " (x, w) y = Conv", attributes, " (a, w) }");
}

std::string image(const std::string& first, const std::string& second) {
  return cat("g (float[", first, ", 4, ", second, ", 8] x) => (float[", first, ", 4, ", second,
             ", 8] y) <float[4, 4, 1, 1] w = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1}> ", convs(kAttributes));
}

ir::Model plain() { return of(image("1", "8")); }
ir::Model without_attributes() {
  return of(cat(
      "g (float[1, 4, 8, 8] x) => (float[1, 4, 8, 8] y) <float[4, 4, 1, 1] w = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, "
      "0, 0, 1}> ",
      convs("")));
}
ir::Model batch_2() { return of(image("2", "8")); }
ir::Model dynamic_height() { return of(image("1", "H")); }
ir::Model dynamic_batch() { return of(image("N", "8")); }
ir::Model opset_23() { return of(image("1", "8"), {}, 23); }

ir::Model weight_as_input() {
  return of(cat("g (float[1, 4, 8, 8] x, float[4, 4, 1, 1] w) => (float[1, 4, 8, 8] y) ", convs(kAttributes)));
}

ir::Model computed_if() {
  return of(R"(g (float[4] x, bool c) => (float[4] y) {
    a = Relu(x)
    y = If (c) <then_branch = t () => (float[4] p) { p = Abs(a) }, else_branch = e () => (float[4] q) { q = Neg(a) }> })");
}

ir::Model lstm() {
  return of(R"(g (float[2, 1, 3] x, float[1, 8, 3] w, float[1, 8, 2] r) => (float[2, 1, 1, 2] y)
    { y = LSTM <hidden_size = 2> (x, w, r) })");
}

ir::Model bfloat16() { return of("g (bfloat16[4, 4] x) => (bfloat16[4, 4] y) { y = MatMul(x, x) }"); }

ir::Model resize_841() {
  return of(R"(g (float[1, 841, 128] x) => (float[1, 1682, 128] y) <float[3] k = {1, 2, 1}>
    { y = Resize <mode = "nearest"> (x, , k) })");
}
ir::Model resize_of_rank_4() {
  return of(R"(g (float[1, 4, 29, 29] x) => (float[1, 4, 58, 58] y) <float[4] k = {1, 1, 2, 2}>
    { y = Resize <mode = "nearest"> (x, , k) })");
}
ir::Model resize_aligned() {
  return of(R"(g (float[1, 4, 29, 29] x) => (float[1, 4, 58, 58] y) <float[4] k = {1, 1, 2, 2}>
    { y = Resize <mode = "linear", coordinate_transformation_mode = "align_corners"> (x, , k) })");
}

ir::Model large_matmul() {
  return of("g (float[1024, 1024] x, float[1024, 1024] w) => (float[1024, 1024] y) { y = MatMul(x, w) }");
}
ir::Model small_matmul() { return of("g (float[8, 8] x, float[8, 8] w) => (float[8, 8] y) { y = MatMul(x, w) }"); }

ir::Model two_outputs() { return of("g (float[4] x) => (float[4] y, float[4] z) { y = Relu(x) z = Abs(x) }"); }
ir::Model one_output() { return of("g (float[4] x) => (float[4] y) { y = Relu(x) }"); }

ir::Model prelu() {
  return of("g (float[1, 2, 4, 4] x) => (float[1, 2, 4, 4] y) <float[2, 1, 1] k = {0.1, 0.2}> { y = PRelu(x, k) }");
}
ir::Model leaky_relu() {
  return of("g (float[1, 2, 4, 4] x) => (float[1, 2, 4, 4] y) { y = LeakyRelu <alpha = 0.1> (x) }");
}

constexpr const char kAttention[] = R"(g (float[2, 4, 8] q, float[2, 8, 4] k, float[2, 4, 8] v) => (float[2, 4, 8] y)
  { a = MatMul(q, k) b = Softmax(a) y = MatMul(b, v) })";
ir::Model attention() { return of(kAttention); }

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  if (from.empty()) return;
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}
ir::Model quantized_with(const std::string& from, const std::string& to) {
  QuantizedText text;
  std::string body = text.body(text.pair(text.conv(text.pair(text.conv(text.pair("x"))))));
  replace_all(body, from, to);
  return of(body, {"com.microsoft", "com.amd.quark", "com.vai.quantize"});
}
ir::Model good_quantized() { return quantized_with("", ""); }
ir::Model in_microsoft() {
  QuantizedText text;
  std::string body = text.body(text.pair(text.conv(text.pair(text.conv(text.pair("x"))))));
  replace_all(body, "= QuantizeLinear", "= com.microsoft.QuantizeLinear");
  replace_all(body, "= DequantizeLinear", "= com.microsoft.DequantizeLinear");
  return of(body, {"com.microsoft"});
}
ir::Model in_quark() {
  QuantizedText text;
  std::string body = text.body(text.pair(text.conv(text.pair("x"))));
  replace_all(body, "= DequantizeLinear", "= com.amd.quark.ExtendedDequantizeLinear");
  return of(body, {"com.amd.quark"});
}
ir::Model float_scale() { return quantized_with("0.25", "0.26"); }
ir::Model zero_point_3() { return quantized_with("int8 z = {0}", "int8 z = {3}"); }

ir::Model per_channel() {
  return of(R"(g (float[1, 2, 4, 4] x) => (float[1, 2, 4, 4] y)
    <float s = {0.25}, int8 z = {0}, float[2] ws = {0.25, 0.5}, int8[2] wz = {0, 0}, int8[2, 2, 1, 1] w = {1, 2, 3, 4}> {
      a = QuantizeLinear (x, s, z) b = DequantizeLinear (a, s, z) wd = DequantizeLinear <axis = 0> (w, ws, wz)
      c = Conv <strides = [1, 1], pads = [0, 0, 0, 0], dilations = [1, 1], kernel_shape = [1, 1], group = 1> (b, wd)
      d = QuantizeLinear (c, s, z) y = DequantizeLinear (d, s, z) })");
}

ir::Model stored_bias(const char* type, const char* scale) {
  QuantizedText text;
  text.constants += cat(", ", type, "[4] bq = {1, 2, 3, 4}, float bs = {", scale, "}, ", type, " bz = {0}");
  const std::string x = text.pair("x"), w = text.weight("[4, 4, 1, 1]", 16);
  const std::string b = text.op("DequantizeLinear (bq, bs, bz)");
  return of(
      text.body(text.pair(text.op(cat("Conv ", QuantizedText::conv_attributes(), " (", x, ", ", w, ", ", b, ")")))));
}
ir::Model bias_in_scale() { return stored_bias("int32", "0.0625"); }
ir::Model bias_with_own_scale() { return stored_bias("int32", "0.5"); }
ir::Model int8_bias_in_scale() { return stored_bias("int8", "0.0625"); }

ir::Model float_tail() {
  QuantizedText text;
  return of(text.body(text.op(cat("Sigmoid (", text.pair(text.conv(text.pair("x"))), ")"))));
}

ir::Model reshape(bool amid) {
  QuantizedText text;
  text.constants += ", int64[4] shape = {1, 4, 8, 8}";
  std::string value = text.pair(text.conv(text.pair("x")));
  value = text.pair(text.op(cat("Reshape (", value, ", shape)")));
  if (amid) value = text.pair(text.conv(value));
  return of(text.body(value));
}
ir::Model reshape_amid() { return reshape(true); }
ir::Model reshape_at_end() { return reshape(false); }

ir::Model instance_norm() {
  QuantizedText text;
  text.constants += ", float[4] one = {1, 1, 1, 1}";
  const std::string value = text.pair(text.conv(text.pair("x")));
  const std::string norm = text.pair(text.op(cat("InstanceNormalization (", value, ", one, one)")));
  return of(text.body(text.pair(text.op(cat("Add (", value, ", ", norm, ")")))));
}

ir::Model amid_attention() {
  QuantizedText text;
  const std::string value = text.pair(text.conv(text.pair("x")));
  const std::string product = text.pair(text.op(cat("MatMul (", value, ", ", value, ")")));
  return of(text.body(text.pair(text.conv(product))));
}

ir::Model shuffle() {
  QuantizedText text;
  text.constants += ", int64[5] five = {1, 2, 2, 8, 8}, int64[4] four = {1, 4, 8, 8}";
  std::string value = text.pair(text.conv(text.pair("x")));
  value = text.pair(text.op(cat("Reshape (", value, ", five)")));
  value = text.pair(text.op(cat("Transpose <perm = [0, 2, 1, 3, 4]> (", value, ")")));
  value = text.pair(text.op(cat("Reshape (", value, ", four)")));
  return of(text.body(text.pair(text.conv(value))));
}

ir::Model depthwise(const char* activation, bool is_joined) {
  QuantizedText text;
  text.constants += ", float low = {0}, float high = {6}";
  std::string value = text.depthwise(text.pair(text.conv(text.pair("x"))));
  if (!is_joined) value = text.pair(value);
  value = text.op(cat(activation, " (", value, std::string(activation) == "Clip" ? ", low, high)" : ")"));
  return of(text.body(text.pair(text.conv(text.pair(value)))));
}
ir::Model depthwise_clip() { return depthwise("Clip", true); }
ir::Model depthwise_clip_apart() { return depthwise("Clip", false); }
ir::Model depthwise_relu() { return depthwise("Relu", true); }

ir::Model float_bias() {
  QuantizedText text;
  text.inputs = "float[1, 4] x";
  text.outputs = "[1, 4]";
  text.constants += ", float[4] b = {1, 2, 3, 4}";
  const std::string x = text.pair("x"), w = text.weight("[4, 4]", 16);
  const std::string product = text.pair(text.op(cat("MatMul (", x, ", ", w, ")")));
  return of(text.body(text.pair(text.op(cat("Add (", product, ", b)")))));
}

/// Convs with PRelus between, which X1 leaves on the CPU: `cuts` of them make cuts + 1 regions.
ir::Model cut_by_prelus(int cuts) {
  QuantizedText text;
  text.constants += ", float[4, 1, 1] k = {0.1, 0.2, 0.3, 0.4}";
  std::string value = text.pair(text.conv(text.pair("x")));
  for (int i = 0; i < cuts; ++i) value = text.pair(text.conv(text.pair(text.op(cat("PRelu (", value, ", k)")))));
  return of(text.body(value));
}
ir::Model three_regions() { return cut_by_prelus(2); }
ir::Model two_regions() { return cut_by_prelus(1); }

ir::Model activations_of_16_bits() {
  return of(R"(g (float[1, 2, 4, 4] x) => (float[1, 2, 4, 4] y)
    <float s = {0.25}, int16 z = {0}, int8 wz = {0}, int8[2, 2, 1, 1] w = {1, 2, 3, 4}> {
      a = com.microsoft.QuantizeLinear (x, s, z) b = com.microsoft.DequantizeLinear (a, s, z)
      wd = DequantizeLinear (w, s, wz)
      c = Conv <strides = [1, 1], pads = [0, 0, 0, 0], dilations = [1, 1], kernel_shape = [1, 1], group = 1> (b, wd)
      d = com.microsoft.QuantizeLinear (c, s, z) y = com.microsoft.DequantizeLinear (d, s, z) })",
            {"com.microsoft"});
}

ir::Model embedding() {
  return of("g (int64[1, 3] i) => (float[1, 3, 2] y) <float[4, 2] t = {1, 2, 3, 4, 5, 6, 7, 8}> { y = Gather(t, i) }");
}
ir::Model bool_where() { return of("g (bool[4] c, bool[4] a, bool[4] b) => (bool[4] y) { y = Where(c, a, b) }"); }
ir::Model softplus_net() {
  return of(R"(g (float[1, 4] x) => (float[1, 4] y) <int64[1] k = {1}> { a = Softplus(x) b = Tanh(a) c = Div(a, b)
    d = ReduceSum <keepdims = 1> (c, k) e = ReduceMax <keepdims = 1> (c) f = Add(d, e) y = Concat <axis = 1> (f, f, f, f) })");
}
ir::Model shared_dq() {
  QuantizedText text;
  const std::string value = text.pair(text.conv(text.pair("x")));
  return of(text.body(text.pair(text.op(cat("Add (", text.pair(text.conv(value)), ", ", value, ")")))));
}
ir::Model nms() {
  return of("g (float[1, 4, 4] b, float[1, 1, 4] s) => (int64[N, 3] y) { y = NonMaxSuppression(b, s) }");
}

std::string roll(const std::string& first, const std::string& second) {
  return cat("g (float[1, 4, 8, 8] x) => (float[1, 4, 8, 8] y) <int64[1] a = {", first,
             "}, int64[1] b = {100}, int64[1] c = {0}, int64[1] d = {", second,
             "}, int64[1] k = {2}> { p = Slice (x, a, b, k) q = Slice (x, c, d, k) y = Concat <axis = 2> (p, q) }");
}
ir::Model rolled() { return of(roll("-2", "-2")); }
ir::Model rolled_forward() { return of(roll("6", "6")); }

ir::Model norm_of(const std::string& dims) {
  return of(cat("g (float[", dims, "] x) => (float[", dims,
                "] y) <float[4] s = {1, 2, 3, 4}> { y = LayerNormalization (x, s) }"));
}
ir::Model norm_of_rank_3() { return norm_of("1, 8, 4"); }
ir::Model norm_of_rank_4() { return norm_of("1, 1, 8, 4"); }

ir::Model pixel_shuffle(const std::string& nodes, const std::string& dims) {
  return of(cat("g (float[1, 4, 8, 8] x) => (float[", dims,
                "] y) <float[4, 4, 1, 1] w = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1}, "
                "float[4, 1, 1, 1] v = {1, 1, 1, 1}> {",
                nodes, "}"));
}
ir::Model shuffled_tail() {
  return pixel_shuffle("a = Conv (x, w) y = DepthToSpace <blocksize = 2> (a)", "1, 1, 16, 16");
}
ir::Model shuffled_amid() {
  return pixel_shuffle("a = Conv (x, w) b = DepthToSpace <blocksize = 2> (a) y = Conv (b, v)", "1, 4, 16, 16");
}

ir::Model blocked_pair(const std::string& to, const std::string& scale) {
  return of(cat("g (float[1, 32] x) => (float[1, 32] y) { c = Constant <value = float[1, 1] {0.5}> () s = Cast <to = ",
                scale, "> (c) q = QuantizeLinear <axis = 1, block_size = 32, output_dtype = ", to,
                "> (x, s) y = DequantizeLinear <axis = 1, block_size = 32, output_dtype = 1> (q, s) }"),
            {}, 28);
}
ir::Model block_powers() { return blocked_pair("17", "24"); }  // FLOAT8E4M3FN, FLOAT8E8M0
ir::Model block_floats() { return blocked_pair("17", "1"); }

const Thread kThreads[] = {
    {"OS#1404 Conv attributes", "x2", "conv-implicit-attributes", "crash", "explicit-conv-attributes",
     without_attributes, plain},
    {"OS#1432 If", "x2", "data-dependent-if", "crash", "cut-control-flow", computed_if, plain},
    {"OS#1433 If in a float model", "vaiml-bf16", "data-dependent-if", "crash", "cut-control-flow", computed_if, plain},
    {"OS#1432 weights not constant", "x2", "dynamic-weight", "crash", "weights-to-initializers", weight_as_input,
     plain},
    {"OS#1404 LSTM", "vaiml-bf16", "lstm", "crash", "run-outside", lstm, plain},
    {"OS#1404 bfloat16 tensors", "vaiml-bf16", "bfloat16-tensor", "unknown", "float32-tensors", bfloat16, plain},
    {"ExtendedDequantizeLinear is not registered", "gen2-vint8", "qdq-quark", "crash", "qdq-in-ai-onnx", in_quark,
     good_quantized},
    {"ONNX Runtime without FLOAT8E8M0", "ort-cpu", "qdq-microscaling", "crash", "custom-mx-form", block_powers,
     block_floats},
    {"SW#393 Resize of 841", "x1", "resize-of-rank-3", "crash", "smaller-input", resize_841, resize_of_rank_4},
    {"SW#374 large product", "vaiml-bf16", "large-product", "note", "split-product", large_matmul, small_matmul},
    {"NON-STATIC SHAPE", "vaiml-bf16", "symbolic-shape", "crash", "static-shapes", dynamic_height, plain},
    {"SW#312 hang with dynamic axes", "x1", "symbolic-shape", "unknown", "static-shapes", dynamic_height,
     dynamic_batch},
    {"gen2 shapes not static", "gen2-vint8", "symbolic-batch", "nothing-placed", "static-shapes", dynamic_batch, plain},
    {"gen2 opset", "gen2-bf16", "opset-above", "nothing-placed", "convert-opset", opset_23, plain},
    {"WASDK#6610 Softplus net", "winml", "softplus-net", "nothing-placed", "compile-with-report", softplus_net, plain},
    {"com.microsoft Q/DQ", "x1", "qdq-microsoft", "nothing-placed", "qdq-in-ai-onnx", in_microsoft, good_quantized},
    {"scales per channel", "x1", "per-channel-scale", "nothing-placed", "one-scale-per-tensor", per_channel,
     good_quantized},
    {"float tail", "x1", "float-operator", "nothing-placed", "cut-tail", float_tail, good_quantized},
    {"A8W8 on X1", "x1", "type", "nothing-placed", "power-of-two-scales", float_scale, good_quantized},
    {"Reshape in a conv stream", "x1", "reshape-amid-convs", "nothing-placed", "cut-part", reshape_amid,
     reshape_at_end},
    {"InstanceNormalization diamond", "x1", "instance-norm-diamond", "nothing-placed", "fold-instance-norm",
     instance_norm, good_quantized},
    {"attention amid Convs", "x1", "attention-amid-convs", "nothing-placed", "cut-part", amid_attention,
     good_quantized},
    {"SW#208 transformer in XINT8", "x1", "transformer", "nothing-placed", "quantize-a16w8", attention, plain},
    {"SW#401 batch 2", "x1", "batch-above-1", "wrong-results", "batch-1", batch_2, plain},
    {"SW#390 PRelu", "vaiml-bf16", "prelu", "wrong-results", "prelu-to-leaky-relu", prelu, leaky_relu},
    {"SW#369 several outputs", "vaiml-bf16", "several-outputs", "wrong-results", "compare-on-device", two_outputs,
     one_output},
    {"XINT8 MobileNetV2 on STX", "x2", "depthwise-then-clip", "wrong-results", "compare-on-device", depthwise_clip,
     depthwise_clip_apart},
    {"depthwise Conv and Clip", "x2", "depthwise-then-clip", "falls-back", "keep-qdq-before-clip", depthwise_clip,
     depthwise_clip_apart},
    {"depthwise Conv and Relu", "x2", "depthwise-then-relu", "falls-back", "keep-qdq-before-clip", depthwise_relu,
     depthwise_clip},
    {"float scales", "x1", "scale-not-power-of-two", "wrong-results", "power-of-two-scales", float_scale,
     good_quantized},
    {"bias in the scale of the product", "x1", "bias-scale", "wrong-results", "int8-bias", bias_in_scale,
     bias_with_own_scale},
    {"position of an int8 bias", "x1", "bias-scale", "wrong-results", "int8-bias", bias_in_scale, int8_bias_in_scale},
    {"int32 bias", "x1", "bias-int32", "note", "int8-bias", bias_with_own_scale, good_quantized},
    {"SW#397 torch.roll", "x2", "negative-slice-bounds", "crash", "positive-slice-bounds", rolled, rolled_forward},
    {"SwinIR norms", "x2", "normalization-of-rank-3", "note", "normalization-at-rank-4", norm_of_rank_3,
     norm_of_rank_4},
    {"SwinIR tail", "x2", "depth-to-space-tail", "note", "separate-tail", shuffled_tail, shuffled_amid},
    {"encoder on Windows ML", "winml", "transformer", "note", "compare-on-device", attention, plain},
    {"WML#783 quantized for Windows ML", "winml", "quantized-model", "note", "compile-with-report", good_quantized,
     plain},
    {"WML#1226 16 bits on Windows ML", "winml", "quantized-model", "unknown", "float-model", activations_of_16_bits,
     plain},
    {"encoder on X2", "x2", "transformer", "note", "quantize-a16w8", attention, plain},
    {"dpu_subgraph_num", "x1", "regions-above", "note", "raise-region-limit", three_regions, two_regions},
    {"zero point on gen2", "gen2-vint8", "zero-point-not-0", "unknown", "symmetric-zero-points", zero_point_3,
     good_quantized},
    {"channel shuffle", "x2", "channel-shuffle", "falls-back", "channel-shuffle-at-rank-4", shuffle, good_quantized},
    {"rank 5", "x1", "rank-above", "falls-back", "rank-at-most-4", shuffle, good_quantized},
    {"OS#1432 float bias", "x2", "product-with-float-bias", "falls-back", "quantize-all", float_bias, good_quantized},
    {"WML#430 embedding", "x2", "gather-of-constant", "falls-back", "run-outside", embedding, plain},
    {"select on i1", "vaiml-bf16", "select-of-bool", "falls-back", "run-outside", bool_where, plain},
    {"AIESW-30603 shared DQ", "gen2-vint8", "shared-dq", "note", "one-dq-per-consumer", shared_dq, good_quantized},
    {"align_corners", "x1", "resize-align-corners", "falls-back", "nearest-resize", resize_aligned, resize_of_rank_4},
};

TEST(ThreadsTest, EachIsFoundWithItsRemedy) {
  for (const Thread& thread : kThreads) {
    const TargetReport report = test::assessed(thread.bad(), thread.target);
    const TargetFinding* found = test::find_rule(report, thread.rule, thread.effect);
    ASSERT_NE(found, nullptr) << thread.name;
    EXPECT_EQ(found->reason.remedy, thread.remedy) << thread.name;
    EXPECT_FALSE(found->reason.remedy_text.empty()) << thread.name;
    EXPECT_FALSE(found->reason.source.empty()) << thread.name;
    EXPECT_GE(found->count, 1u) << thread.name;
  }
}

TEST(ThreadsTest, WithoutTheCauseThereIsNoFinding) {
  for (const Thread& thread : kThreads) {
    if (thread.good == nullptr) continue;
    const TargetReport report = test::assessed(thread.good(), thread.target);
    EXPECT_EQ(test::find_rule(report, thread.rule, thread.effect), nullptr) << thread.name;
  }
}

TEST(ThreadsTest, BlockingOnesBlockAndOthersDoNot) {
  for (const Thread& thread : kThreads) {
    const std::string effect = thread.effect;
    const TargetReport report = test::assessed(thread.bad(), thread.target);
    if (effect == "crash" || effect == "nothing-placed") {
      EXPECT_EQ(report.verdict, "blocked") << thread.name;
      EXPECT_EQ(report.counts.npu, 0u) << thread.name;
      EXPECT_EQ(report.counts.total, report.unblocked.total) << thread.name;
    } else if (effect == "wrong-results" && !report.is_blocked) {
      EXPECT_EQ(report.verdict, "runs-wrong") << thread.name;
    }
  }
}

TEST(ThreadsTest, CrashesComeFirst) {
  const TargetReport report = test::assessed(without_attributes(), "x2");
  ASSERT_FALSE(report.findings.empty());
  EXPECT_EQ(report.findings.front().reason.effect, TargetEffect::kCrash);
}

TEST(ThreadsTest, TheRuleAboutRegionsLeavesThePlacementAlone) {
  const TargetReport report = test::assessed(three_regions(), "x1");
  EXPECT_EQ(report.unblocked.regions, 3u);
  EXPECT_EQ(report.verdict, "runs-partly");
  EXPECT_EQ(test::find_rule(report, "regions-above")->reason.text.substr(0, 9), "3 regions");
  for (const TargetReason& reason : report.reasons) EXPECT_NE(reason.rule, "regions-above");
}

// Facts about the provider and the device, which no model shows, are options of the targets.
TEST(ThreadsTest, FactsOutsideOfModelsAreOptions) {
  const struct {
    const char *target, *option, *source;
  } facts[] = {{"x1", "sessions", "SW#402"},         {"x2", "sessions", "SW#402"},
               {"vaiml-bf16", "sessions", "SW#402"}, {"x2", "display", "SW#398"},
               {"x1", "release", "SW#375"},          {"x1", "dpu_subgraph_num", "documents of older providers"}};
  for (const auto& fact : facts) {
    const config::Target target = config::load_target(fact.target).value();
    const auto found = std::ranges::find(target.options, fact.option, &config::ProviderOption::name);
    ASSERT_NE(found, target.options.end()) << fact.target << " " << fact.option;
    EXPECT_EQ(found->evidence.source, fact.source) << fact.option;
    EXPECT_FALSE(found->evidence.note.empty()) << fact.option;
  }
}

TEST(ThreadsTest, NonMaxSuppressionStaysOnTheCpuEverywhere) {
  for (const char* target : {"x1", "x2", "vaiml-bf16", "gen2-vint8"}) {
    const TargetReport report = test::assessed(nms(), target);
    ASSERT_EQ(report.nodes.size(), 1u);
    EXPECT_EQ(report.nodes[0].verdict, NodeVerdict::kFallsBack) << target;
    EXPECT_EQ(report.reasons[report.nodes[0].reason].remedy, "post-processing-on-cpu") << target;
  }
}

}  // namespace
}  // namespace quarkq

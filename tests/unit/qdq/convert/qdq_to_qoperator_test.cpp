// SPDX-License-Identifier: MIT
// qdq-to-qoperator: which operators on integers are written, with which inputs, and what is left with which reason. The
// operators that the executor has are run beside the Q/DQ model; ONNX Runtime runs all of them in test_convert.py.
#include "support/convert_bench.h"

namespace quarkq {
namespace {

using test::ConvertBench;

/// x -> Q -> DQ -> `nodes`, which make r -> Q -> DQ -> y; activations in uint8. `shapes`: of x and y, "[4]>[4]".
std::string around(const std::string& nodes, const std::string& shapes, const std::string& more = "") {
  const size_t arrow = shapes.find('>');
  return cat("g (float", shapes.substr(0, arrow), " x) => (float", shapes.substr(arrow + 1),
             " y) <float s = {0.02}, uint8 z = {120}, float so = {0.03}, uint8 zo = {110}", more.empty() ? "" : ", ",
             more, "> { q = QuantizeLinear (x, s, z) d = DequantizeLinear (q, s, z) ", nodes,
             " p = QuantizeLinear (r, so, zo) y = DequantizeLinear (p, so, zo) }");
}

const char* const kWeights =
    "float ws = {0.01}, int8 wz = {0}, int8[4, 4] w = {1, -20, 30, 44, 5, -60, 70, 8, -128, "
    "127, 11, 12, -13, 14, 15, 16}";

/// Every output within one step of the result, whose scale is 0.03.
void expect_within_a_step(const ir::Model& before, const ir::Model& after) {
  test::expect_same_outputs(before, after, 0.0301);
}

TEST(QdqToQoperatorTest, MatMul) {
  ConvertBench bench(around("f = DequantizeLinear (w, ws, wz) r = MatMul (d, f)", "[2, 4]>[2, 4]", kWeights));
  const ir::Model before = bench.model;
  EXPECT_EQ(bench.run("qdq-to-qoperator"), 1U);
  EXPECT_EQ(bench.ops(), "QuantizeLinear QLinearMatMul DequantizeLinear");
  const ir::Node& node = bench.node("QLinearMatMul");
  ASSERT_EQ(node.inputs.size(), 8U);
  const char* const names[] = {"q", "s", "z", "w", "ws", "wz", "so", "zo"};
  for (size_t i = 0; i < 8; ++i) EXPECT_EQ(bench.graph().value(node.inputs[i]).name, names[i]) << i;
  expect_within_a_step(before, bench.model);
  EXPECT_TRUE(bench.left.empty());
  test::expect_unchanged(bench, "qdq-to-qoperator");
}

TEST(QdqToQoperatorTest, MatMulWithAScaleForEachColumn) {
  ConvertBench bench(around("f = DequantizeLinear <axis = 1> (w, ws, wz) r = MatMul (d, f)", "[2, 2]>[2, 2]",
                            "float[2] ws = {0.01, 0.1}, int8[2] wz = {0, 0}, int8[2, 2] w = {9, -8, 70, 6}"));
  const ir::Model before = bench.model;
  EXPECT_EQ(bench.run("qdq-to-qoperator"), 1U);
  expect_within_a_step(before, bench.model);
}

TEST(QdqToQoperatorTest, MatMulWithAScaleForEachRowIsLeft) {
  ConvertBench bench(around("f = DequantizeLinear <axis = 0> (w, ws, wz) r = MatMul (d, f)", "[2, 2]>[2, 2]",
                            "float[2] ws = {0.01, 0.1}, int8[2] wz = {0, 0}, int8[2, 2] w = {9, -8, 70, 6}"));
  EXPECT_EQ(bench.run("qdq-to-qoperator"), 0U);
  ASSERT_EQ(bench.left.size(), 1U);
  EXPECT_NE(bench.left[0].reason.find("each index of an axis"), std::string::npos) << bench.left[0].reason;
}

TEST(QdqToQoperatorTest, GemmWithAFloatBias) {
  for (const char* attributes : {"", "<transB = 1, alpha = 0.5, beta = 2.0>"}) {
    ConvertBench bench(around(cat("f = DequantizeLinear (w, ws, wz) r = Gemm ", attributes, " (d, f, b)"),
                              "[2, 4]>[2, 4]", cat(kWeights, ", float[4] b = {0.5, -0.25, 0.1, 0}")));
    const ir::Model before = bench.model;
    EXPECT_EQ(bench.run("qdq-to-qoperator"), 1U);
    EXPECT_EQ(bench.node("QGemm").domain, "com.microsoft");
    EXPECT_EQ(bench.node("QGemm").find("beta"), nullptr);
    EXPECT_EQ(bench.stored("QGemm", 6).type(), ElementType::kInt32);
    EXPECT_EQ(bench.model.opset("com.microsoft"), 1);
    expect_within_a_step(before, bench.model);
  }
}

std::string conv(const std::string& bias, const std::string& after = "", const std::string& constants = "") {
  return around(cat("f = DequantizeLinear <axis = 0> (w, ws, wz) ", bias, " c = Conv (d, f", bias.empty() ? "" : ", e",
                    ") ", after.empty() ? "r = Identity (c)" : after),
                "[1, 2, 2, 2]>[1, 2, 2, 2]",
                cat("float[2] ws = {0.01, 0.05}, int8[2] wz = {0, 0}, int8[2, 2, 1, 1] w = {90, -80, 70, 60}",
                    constants.empty() ? "" : ", ", constants));
}

/// Without the Identity that stands for no activation.
std::string plain_conv(const std::string& bias, const std::string& constants = "") {
  std::string text = conv(bias, "", constants);
  text.erase(text.find(" r = Identity (c)"), 17);
  text.replace(text.find(" c = Conv"), 9, " r = Conv");
  return text;
}

TEST(QdqToQoperatorTest, ConvWithScalesOfChannels) {
  ConvertBench bench(plain_conv(""));
  const ir::Model before = bench.model;
  EXPECT_EQ(bench.run("qdq-to-qoperator"), 1U);
  EXPECT_EQ(bench.ops(), "QuantizeLinear QLinearConv DequantizeLinear");
  EXPECT_EQ(bench.node("QLinearConv").inputs.size(), 8U);
  expect_within_a_step(before, bench.model);
}

TEST(QdqToQoperatorTest, BiasesOfEveryFormBecomeInt32) {
  const std::pair<const char*, const char*> forms[] = {
      {"e = Identity (b)", "float[2] b = {0.5, -1}"},  // computed: left, see below
      {"e = DequantizeLinear <axis = 0> (b, bs, bz)",
       "int32[2] b = {2500, -1000}, float[2] bs = {0.0002, 0.001}, int32[2] bz = {0, 0}"},
      {"e = DequantizeLinear (b, bs, bz)", "int8[2] b = {50, -100}, float bs = {0.01}, int8 bz = {0}"},
      {"e = DequantizeLinear (b, bs)", "int32[2] b = {50, -100}, float bs = {0.01}"},
  };
  for (const auto& [node, constants] : forms) {
    ConvertBench bench(plain_conv(node, constants));
    const ir::Model before = bench.model;
    const size_t converted = bench.run("qdq-to-qoperator");
    if (std::string(node).find("Identity") != std::string::npos) {
      EXPECT_EQ(converted, 0U);
      EXPECT_NE(bench.left.at(0).reason.find("bias"), std::string::npos);
      continue;
    }
    EXPECT_EQ(converted, 1U) << node;
    EXPECT_EQ(bench.integers("QLinearConv", 8), (std::vector<int64_t>{2500, -1000})) << node;
    expect_within_a_step(before, bench.model);
  }
}

TEST(QdqToQoperatorTest, ABiasThatIntegersCannotHoldIsLeft) {
  ConvertBench bench(plain_conv("e = DequantizeLinear (b, bs)", "int32[2] b = {2000000000, 0}, float bs = {1}"));
  EXPECT_EQ(bench.run("qdq-to-qoperator"), 0U);
  ASSERT_EQ(bench.left.size(), 1U);
  EXPECT_NE(bench.left[0].reason.find("exceeds the range of int32"), std::string::npos) << bench.left[0].reason;
}

TEST(QdqToQoperatorTest, AReluBecomesAClipOfCodesWhereTheyGoOn) {
  ConvertBench bench(conv("", "r = Relu (c)"));
  const ir::Model before = bench.model;
  EXPECT_EQ(bench.run("qdq-to-qoperator"), 1U);
  EXPECT_EQ(bench.ops(), "QuantizeLinear QLinearConv Clip DequantizeLinear");
  EXPECT_EQ(bench.integers("Clip", 1), std::vector<int64_t>{110});
  EXPECT_EQ(bench.integers("Clip", 2), std::vector<int64_t>{255});
  expect_within_a_step(before, bench.model);
}

TEST(QdqToQoperatorTest, AReluGoesWhereTheCodesEnd) {
  std::string text = conv("", "r = Relu (c)");
  text.replace(text.find("zo = {110}"), 10, "zo = {0}");
  ConvertBench bench(text);
  const ir::Model before = bench.model;
  EXPECT_EQ(bench.run("qdq-to-qoperator"), 1U);
  EXPECT_EQ(bench.ops(), "QuantizeLinear QLinearConv DequantizeLinear");
  expect_within_a_step(before, bench.model);
}

TEST(QdqToQoperatorTest, LimitsOfAClipBecomeCodes) {
  ConvertBench bench(conv("", "r = Clip (c, low, high)", "float low = {-0.3}, float high = {0.6}"));
  const ir::Model before = bench.model;
  EXPECT_EQ(bench.run("qdq-to-qoperator"), 1U);
  EXPECT_EQ(bench.integers("Clip", 1), std::vector<int64_t>{100});
  EXPECT_EQ(bench.integers("Clip", 2), std::vector<int64_t>{130});
  expect_within_a_step(before, bench.model);
}

TEST(QdqToQoperatorTest, AClipOfCodesNeedsOpset12) {
  std::string text = conv("", "r = Relu (c)");
  for (size_t at = text.find("float[2] ws"); text.find("<axis = 0>") != std::string::npos; ++at)
    text.erase(text.find("<axis = 0>"), 10);
  text.replace(text.find("float[2] ws = {0.01, 0.05}, int8[2] wz = {0, 0}"), 47, "float ws = {0.01}, int8 wz = {0}");
  ConvertBench bench(text, 11);
  EXPECT_EQ(bench.run("qdq-to-qoperator"), 0U);
  ASSERT_EQ(bench.left.size(), 1U);
  EXPECT_NE(bench.left[0].reason.find("opset 12"), std::string::npos) << bench.left[0].reason;
}

TEST(QdqToQoperatorTest, AddOfAStoredInt8Tensor) {
  ConvertBench bench(around("f = DequantizeLinear (w, ws, wz) r = Add (d, f)", "[4, 4]>[4, 4]", kWeights));
  const ir::Model before = bench.model;
  EXPECT_EQ(bench.run("qdq-to-qoperator"), 1U);
  const ir::Tensor codes = bench.stored("QLinearAdd", 3);
  EXPECT_EQ(codes.type(), ElementType::kUInt8) << "the type of the activations";
  EXPECT_EQ(ir::to_int64(codes).value()[1], 108);
  EXPECT_EQ(bench.integers("QLinearAdd", 5), std::vector<int64_t>{128});
  expect_within_a_step(before, bench.model);
}

TEST(QdqToQoperatorTest, MulOfTwoActivations) {
  ConvertBench bench(around("r = Mul (d, d)", "[4, 4]>[4, 4]"));
  const ir::Model before = bench.model;
  EXPECT_EQ(bench.run("qdq-to-qoperator"), 1U);
  expect_within_a_step(before, bench.model);
}

struct FormCase {
  const char* nodes;
  const char* shapes;
  const char* op;
  size_t inputs;
  std::vector<const char*> attributes;
};

TEST(QdqToQoperatorTest, FormsOfTheOthers) {
  const FormCase cases[] = {
      {"r = Sigmoid (d)", "[4]>[4]", "QLinearSigmoid", 5, {}},
      {"r = LeakyRelu <alpha = 0.2> (d)", "[4]>[4]", "QLinearLeakyRelu", 5, {"alpha"}},
      {"r = AveragePool <kernel_shape = [2, 2]> (d)",
       "[1, 1, 2, 2]>[1, 1, 1, 1]",
       "QLinearAveragePool",
       5,
       {"kernel_shape", "channels_last"}},
      {"r = GlobalAveragePool (d)", "[1, 1, 2, 2]>[1, 1, 1, 1]", "QLinearGlobalAveragePool", 5, {"channels_last"}},
      {"r = Softmax (d)", "[2, 4]>[2, 4]", "QLinearSoftmax", 5, {"axis", "opset"}},
      {"r = Concat <axis = 0> (d, d)", "[2, 4]>[4, 4]", "QLinearConcat", 8, {"axis"}},
  };
  for (const FormCase& row : cases) {
    ConvertBench bench(around(row.nodes, row.shapes));
    EXPECT_EQ(bench.run("qdq-to-qoperator"), 1U) << row.nodes;
    const ir::Node& node = bench.node(row.op);
    EXPECT_EQ(node.domain, "com.microsoft") << row.op;
    EXPECT_EQ(node.inputs.size(), row.inputs) << row.op;
    EXPECT_EQ(node.attributes.size(), row.attributes.size()) << row.op;
    for (const char* attribute : row.attributes) EXPECT_NE(node.find(attribute), nullptr) << row.op << " " << attribute;
  }
}

TEST(QdqToQoperatorTest, ConcatNamesTheOutputFirst) {
  ConvertBench bench(around("r = Concat <axis = 0> (d, d)", "[2, 4]>[4, 4]"));
  bench.run("qdq-to-qoperator");
  const ir::Node& node = bench.node("QLinearConcat");
  EXPECT_EQ(bench.graph().value(node.input(0)).name, "so");
  EXPECT_EQ(bench.graph().value(node.input(1)).name, "zo");
  EXPECT_EQ(bench.graph().value(node.input(2)).name, "q");
}

TEST(QdqToQoperatorTest, TheDefaultAxisOfSoftmaxDependsOnTheOpset) {
  for (const auto& [opset, axis] : {std::pair{17, -1}, std::pair{12, 1}}) {
    ConvertBench bench(around("r = Softmax (d)", "[2, 4]>[2, 4]"), opset);
    bench.run("qdq-to-qoperator");
    EXPECT_EQ(bench.node("QLinearSoftmax").int_or("axis", 9), axis);
    EXPECT_EQ(bench.node("QLinearSoftmax").int_or("opset", 0), opset);
  }
}

TEST(QdqToQoperatorTest, WhatMovesCodesMovesThem) {
  constexpr const char* kSame = "[2, 4]>[8]";
  std::string text = around("r = Reshape (d, t)", kSame, "int64[1] t = {8}");
  text.replace(text.find("p = QuantizeLinear (r, so, zo) y = DequantizeLinear (p, so, zo)"), 63,
               "p = QuantizeLinear (r, s, z) y = DequantizeLinear (p, s, z)");
  ConvertBench bench(text);
  const ir::Model before = bench.model;
  EXPECT_EQ(bench.run("qdq-to-qoperator"), 1U);
  EXPECT_EQ(bench.ops(), "QuantizeLinear Reshape DequantizeLinear");
  test::expect_same_outputs(before, bench.model, 0);
  ConvertBench other(around("r = Reshape (d, t)", kSame, "int64[1] t = {8}"));
  EXPECT_EQ(other.run("qdq-to-qoperator"), 0U);
  EXPECT_NE(other.left.at(0).reason.find("another scale"), std::string::npos);
}

TEST(QdqToQoperatorTest, WhatIsLeftIsNamedWithItsReason) {
  const std::pair<std::string, const char*> cases[] = {
      {around("r = Exp (d)", "[4]>[4]"), "no operator on integers"},
      {around("f = Identity (x) r = Add (d, f)", "[4]>[4]"), "input 1 is not quantized"},
      {around("t = Sigmoid (d) r = Neg (t)", "[4]>[4]"), "not quantized at once"},
      {around("f = DequantizeLinear (w, s) r = Add (d, f)", "[4]>[4]", "int8[4] w = {1, 2, 3, 4}, int8 u = {0}"), ""},
  };
  for (const auto& [text, reason] : cases) {
    ConvertBench bench(text);
    if (*reason == '\0') continue;
    EXPECT_EQ(bench.run("qdq-to-qoperator"), 0U) << text;
    ASSERT_FALSE(bench.left.empty()) << text;
    EXPECT_NE(bench.left[0].reason.find(reason), std::string::npos) << bench.left[0].reason;
  }
}

TEST(QdqToQoperatorTest, SixteenBitsAreLeft) {
  std::string text = around("r = Sigmoid (d)", "[4]>[4]");
  for (size_t at = text.find("uint8"); at != std::string::npos; at = text.find("uint8")) text.replace(at, 5, "int16");
  ConvertBench bench(text, 21);
  EXPECT_EQ(bench.run("qdq-to-qoperator"), 0U);
  ASSERT_EQ(bench.left.size(), 1U);
  EXPECT_NE(bench.left[0].reason.find("INT16, allowed are INT8 and UINT8"), std::string::npos) << bench.left[0].reason;
}

TEST(QdqToQoperatorTest, AResultThatIsAnOutputOfTheGraphIsLeft) {
  ConvertBench bench(
      "g (float[4] x) => (float[4] y, float[4] r) <float s = {0.1}, uint8 z = {3}> { q = QuantizeLinear (x, s, z) "
      "d = DequantizeLinear (q, s, z) r = Sigmoid (d) p = QuantizeLinear (r, s, z) y = DequantizeLinear (p, s, z) }");
  EXPECT_EQ(bench.run("qdq-to-qoperator"), 0U);
  EXPECT_EQ(bench.left.size(), 1U);
}

}  // namespace
}  // namespace quarkq

// SPDX-License-Identifier: MIT
// Conversions between float32, float16 and bfloat16: which tensors change, where Casts stand, what stays.
#include "onnx_io/schemas.h"
#include "rewrite/convert/float_tensors.h"
#include "support/convert_bench.h"

namespace quarkq {
namespace {

using test::ConvertBench;
using enum ElementType;

const char* const kLayers =
    "g (float[2, 3] x) => (float[2, 3] y) <float[3, 3] w = {1, -2, 3, 0.5, 0.25, 1, 2, 3, -4}, float[3] b = {1, 2, 3}> "
    "{ m = MatMul (x, w) a = Add (m, b) y = Relu (a) }";

TEST(FloatTypesTest, WholeModelsKeepTheirInputsAndOutputs) {
  ConvertBench bench((std::string(kLayers)));
  test::expect_converts(bench, "fp32-to-fp16", 3, 1e-2);
  EXPECT_EQ(bench.ops(), "Cast MatMul Add Relu Cast");
  EXPECT_EQ(bench.type_of("x"), kFloat);
  EXPECT_EQ(bench.type_of("y"), kFloat);
  EXPECT_EQ(bench.type_of("a"), kFloat16);
  EXPECT_EQ(bench.stored("MatMul", 1).type(), kFloat16);
}

TEST(FloatTypesTest, InputsAndOutputsMayChange) {
  ConvertBench bench((std::string(kLayers)));
  EXPECT_EQ(bench.run("fp32-to-fp16:keep_io=false"), 3U);
  EXPECT_EQ(bench.ops(), "MatMul Add Relu");
  EXPECT_EQ(bench.type_of("x"), kFloat16);
  EXPECT_EQ(bench.type_of("y"), kFloat16);
  EXPECT_EQ(bench.run("fp16-to-fp32:keep_io=false"), 3U);
  EXPECT_EQ(bench.ops(), "MatMul Add Relu");
  EXPECT_EQ(bench.type_of("y"), kFloat);
}

TEST(FloatTypesTest, ThereAndBackLeavesNoIdleCasts) {
  ConvertBench bench((std::string(kLayers)));
  bench.run("fp32-to-fp16");
  bench.run("fp16-to-fp32");
  EXPECT_EQ(bench.ops(), "MatMul Add Relu");
}

TEST(FloatTypesTest, SubgraphsBetweenNames) {
  ir::Model model =
      test::model_of("g (float[4] x) => (float[4] y) { a = Neg (x) b = Abs (a) c = Sigmoid (b) y = Neg (c) }");
  for (const ir::NodeId id : model.graph.order()) {
    ir::GraphEdit edit(model.graph);
    edit.node(id).name = "n_" + model.graph.value(model.graph.node(id).output(0)).name;
  }
  const struct {
    const char* list;
    const char* ops;
    size_t changes;
  } cases[] = {{"[[[n_b],[n_c]]]", "Neg Cast Abs Sigmoid Cast Neg", 2},
               {"[[[n_b],[n_b]]]", "Neg Cast Abs Cast Sigmoid Neg", 1},
               {"[[[n_c],[]]]", "Neg Abs Cast Sigmoid Neg Cast", 2},
               {"[[[],[n_a]]]", "Cast Neg Cast Abs Sigmoid Neg", 1},
               {"[[[n_a],[n_a]],[[n_y],[n_y]]]", "Cast Neg Cast Abs Sigmoid Cast Neg Cast", 2}};
  for (const auto& row : cases) {
    ConvertBench bench{ir::Model(model)};
    EXPECT_EQ(bench.run(cat("fp32-to-fp16:subgraphs=", row.list)), row.changes) << row.list;
    EXPECT_EQ(bench.ops(), row.ops) << row.list;
    test::expect_same_outputs(model, bench.model, 1e-2);
  }
  ConvertBench bad{std::move(model)};
  EXPECT_NE(bad.refusal("fp32-to-fp16:subgraphs=[[[none],[]]]", Code::kInvalidArgument).find("named none"),
            std::string::npos);
  EXPECT_NE(bad.refusal("fp32-to-fp16:subgraphs=[[[n_c],[n_a]]]", Code::kInvalidArgument).find("found no node between"),
            std::string::npos);
  EXPECT_NE(bad.refusal("fp32-to-fp16:subgraphs=[n_c,n_a,n_b]", Code::kInvalidArgument).find("allowed is"),
            std::string::npos);
}

TEST(FloatTypesTest, NodesThatNeedFloatStayBetweenCasts) {
  ConvertBench bench(
      "g (float[8] x) => (float[2] v, float[8] y) <int64[1] k = {2}> { a = Neg (x) v, i = TopK (a, k) y = Abs (a) }");
  EXPECT_EQ(bench.run("fp32-to-fp16"), 2U);
  ASSERT_EQ(bench.left.size(), 1U);
  EXPECT_NE(bench.left[0].reason.find("computed in FLOAT"), std::string::npos);
  EXPECT_EQ(bench.ops(), "Cast Neg Abs Cast Cast TopK");
}

TEST(FloatTypesTest, OperatorsThatLackTheTypeAreNamed) {
  const std::string text =
      "g (float[1, 1, 2, 2] x) => (float[1, 1, 2, 2] y) <float[1, 1, 1, 1] w = {2}> { a = Conv (x, w) y = Neg (a) }";
  ConvertBench old(text);
  EXPECT_EQ(old.run("fp32-to-bf16"), 1U);
  ASSERT_EQ(old.left.size(), 1U);
  EXPECT_NE(old.left[0].reason.find("Conv of opset 17 does not accept BFLOAT16"), std::string::npos)
      << old.left[0].reason;
  EXPECT_EQ(old.ops(), "Conv Cast Neg Cast");
  ConvertBench newer(text, 22);
  EXPECT_EQ(newer.run("fp32-to-bf16"), 2U);
  EXPECT_TRUE(newer.left.empty());
  EXPECT_EQ(newer.stored("Conv", 1).type(), kBFloat16);
  ConvertBench oldest("g (float[4] x) => (float[4] y) { y = Neg (x) }", 12);
  EXPECT_NE(oldest.refusal("fp32-to-bf16", Code::kUnsupported).find("opset 13"), std::string::npos);
}

TEST(FloatTypesTest, InputsThatAreAlwaysFloatStay) {
  ConvertBench bench(
      "g (float[1, 1, 2, 2] x) => (float[1, 1, 4, 4] y) <float[4] k = {1, 1, 2, 2}> { y = Resize <mode = \"nearest\"> "
      "(x, , k) }");
  test::expect_converts(bench, "fp32-to-fp16", 1, 1e-2);
  EXPECT_EQ(bench.stored("Resize", 2).type(), kFloat);
}

TEST(FloatTypesTest, AttributesThatHoldTypesAndTensors) {
  ConvertBench bench(
      "g (float[2] x, int64[2] i) => (float[2] y, float[2] v) <int64[1] n = {2}> { c = Constant <value = float[2] {1, "
      "2}> () "
      "d = Constant <value_float = 0.5> () f = Cast <to = 1> (i) e = ConstantOfShape (n) a = Add (x, c) b = Mul (a, d) "
      "y = Add (b, f) v = Add (y, e) }");
  EXPECT_EQ(bench.run("fp32-to-fp16"), 8U);
  for (const char* value : {"c", "d", "f", "e", "a", "b"}) EXPECT_EQ(bench.type_of(value), kFloat16) << value;
  for (const ir::NodeId id : bench.graph().order()) EXPECT_EQ(bench.graph().node(id).find("value_float"), nullptr);
}

TEST(FloatTypesTest, AnInitializerForBothTypesIsCopied) {
  ConvertBench bench(
      "g (float[4] x, int64[1] k) => (float[2] v, float[4] y) <float[4] w = {1, 2, 3, 4}> { y = Add (x, w) "
      "v, i = TopK (w, k) }");
  EXPECT_EQ(bench.run("fp32-to-fp16"), 1U);
  EXPECT_EQ(bench.stored("TopK", 0).type(), kFloat);
  EXPECT_EQ(bench.stored("Add", 1).type(), kFloat16);
}

TEST(FloatTypesTest, FactorsBeyondTheRangeKeepTheirNodeInFloat) {
  constexpr const char* kStored = "<float[2] w = {70000, 1}> { a = Neg (x) b = Mul (a, w) y = Neg (b) }";
  constexpr const char* kConstant =
      "{ w = Constant <value = float[2] {70000, 1}> () a = Neg (x) b = Div (a, w) y = Neg (b) }";
  for (const char* nodes : {kStored, kConstant}) {
    ConvertBench bench(cat("g (float[2] x) => (float[2] y) ", nodes));
    const ir::Model before = bench.model;
    EXPECT_EQ(bench.run("fp32-to-fp16"), 2U) << nodes;
    ASSERT_EQ(bench.left.size(), 1U) << nodes;
    EXPECT_NE(bench.left[0].reason.find("its w contains values that FLOAT16 cannot represent"), std::string::npos);
    EXPECT_EQ(bench.type_of("w"), kFloat);
  }
  ConvertBench limits(
      "g (float[2] x) => (float[2] y) <float low = {-1e9}, float high = {1e9}> { y = Clip (x, low, high) }");
  test::expect_converts(limits, "fp32-to-fp16", 1, 1e-2);
  ConvertBench wide("g (float[2] x) => (float[2] y) <float[2] w = {70000, 1}> { y = Mul (x, w) }");
  EXPECT_EQ(wide.run("fp32-to-bf16"), 1U) << "bfloat16 reaches as far as float32";
}

TEST(FloatTypesTest, NestedGraphsAreLeft) {
  ConvertBench bench(
      "g (bool c, float[2] x) => (float[2] y) { a = Neg (x) b = If (c) <then_branch = t () => (float[2] p) "
      "{ p = Identity (a) }, else_branch = e () => (float[2] r) { r = Abs (a) }> y = Neg (b) }");
  EXPECT_EQ(bench.run("fp32-to-fp16"), 2U);
  ASSERT_EQ(bench.left.size(), 1U);
  EXPECT_NE(bench.left[0].reason.find("graphs of its own"), std::string::npos);
  EXPECT_EQ(bench.type_of("a"), kFloat) << "the nested graphs read it";
}

TEST(FloatTypesTest, QdqNodesStay) {
  ConvertBench bench(
      "g (float[4] x) => (float[4] y) <float s = {0.5}, int8 z = {0}> { q = QuantizeLinear (x, s, z) "
      "d = DequantizeLinear (q, s, z) y = Sigmoid (d) }");
  test::expect_converts(bench, "fp32-to-fp16", 1, 1e-2);
  EXPECT_EQ(bench.ops(), "QuantizeLinear DequantizeLinear Cast Sigmoid Cast");
}

TEST(FloatTypesTest, OnlyStoredTensors) {
  ConvertBench bench((std::string(kLayers)));
  test::expect_converts(bench, "fp32-to-bf16:weights_only=true", 2, 2e-2);
  EXPECT_EQ(bench.ops(), "Cast Cast MatMul Add Relu");
  for (const ir::ValueId id : bench.graph().initializers())
    EXPECT_EQ(bench.graph().value(id).constant->type(), kBFloat16);
}

TEST(FloatTypesTest, OptionsAreChecked) {
  ConvertBench bench((std::string(kLayers)));
  EXPECT_NE(bench.refusal("fp32-to-fp16:keep_io=yes", Code::kInvalidArgument).find("true and false"),
            std::string::npos);
  EXPECT_NE(bench.refusal("fp32-to-fp16:keepio=true", Code::kInvalidArgument).find("did you mean keep_io?"),
            std::string::npos);
}

float through(float value, ElementType type) {
  const ir::Tensor narrow = rewrite::as_float_type(ir::Tensor::scalar(value), type);
  return rewrite::as_float_type(narrow, kFloat).data<float>()[0];
}

TEST(FloatTensorsTest, FiniteStaysFinite) {
  const struct {
    float value;
    ElementType type;
    float found;
  } cases[] = {{1e6f, kFloat16, 65504},
               {-65520, kFloat16, -65504},
               {1e-9f, kFloat16, 5.9604645e-08f},
               {-1e-9f, kFloat16, -5.9604645e-08f},
               {0, kFloat16, 0},
               {0.1f, kFloat16, 0.0999755859375f},
               {1.00390625f, kBFloat16, 1.0f},
               {1.01171875f, kBFloat16, 1.015625f},
               {3.4e38f, kBFloat16, 3.38953139e38f},
               {-0.1f, kBFloat16, -0.10009765625f}};
  for (const auto& row : cases) EXPECT_EQ(through(row.value, row.type), row.found) << row.value;
  for (const ElementType type : {kFloat16, kBFloat16}) {
    EXPECT_TRUE(std::isinf(through(INFINITY, type)));
    EXPECT_TRUE(std::isnan(through(NAN, type)));
  }
}

TEST(TakesTypeTest, AsSchemasSay) {
  const auto takes = [](const char* op, int64_t opset, bool is_input, size_t index, ElementType type) {
    return onnx_io::takes_type(op, opset, {is_input, index}, type);
  };
  EXPECT_TRUE(takes("Conv", 17, true, 0, kFloat16));
  EXPECT_FALSE(takes("Conv", 17, true, 0, kBFloat16));
  EXPECT_TRUE(takes("Conv", 22, true, 1, kBFloat16));
  EXPECT_FALSE(takes("Resize", 17, true, 2, kFloat16)) << "scales are float32";
  EXPECT_TRUE(takes("Concat", 17, true, 7, kFloat16)) << "any number of inputs";
  EXPECT_FALSE(takes("Relu", 17, true, 3, kFloat16)) << "has one input";
  EXPECT_FALSE(takes("Shape", 17, false, 0, kFloat16));
  EXPECT_FALSE(takes("NoSuchOperator", 17, true, 0, kFloat));
}

}  // namespace
}  // namespace quarkq

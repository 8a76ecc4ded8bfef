// SPDX-License-Identifier: MIT
#include "onnx_io/infer.h"

#include "io_test_support.h"
#include "ir/edit.h"
#include "onnx_io/check_model.h"
#include "onnx_io/library.h"

namespace quarkq::onnx_io {
namespace {

std::string type_of(const ir::Model& model, const char* value) {
  const ir::ValueId id = model.graph.find(value);
  return id.valid() ? ir::type_text(model.graph.value(id).type) : "no such value";
}

ir::Model inferred(const std::string& text) {
  ir::Model model = parsed(text);
  Diagnostics diagnostics;
  EXPECT_TRUE(infer_types(model, diagnostics).ok());
  EXPECT_TRUE(diagnostics.all().empty()) << diagnostics.all()[0].text;
  return model;
}

TEST(InferTest, FollowsOperatorsAndSmallConstants) {
  const ir::Model model = inferred(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[N,3,8,8] x, float[4,3,3,3] w) => (y) <int64[2] target = {0, -1}> {
      c = Conv <pads = [1,1,1,1]> (x, w)
      s = Shape(c)
      y = Reshape(c, target)
    })");
  EXPECT_EQ(type_of(model, "c"), "FLOAT[N,4,8,8]");
  EXPECT_EQ(type_of(model, "s"), "INT64[4]");
  EXPECT_TRUE(type_of(model, "y").starts_with("FLOAT[N,")) << type_of(model, "y");
}

TEST(InferTest, KnowsTheCustomQuantizers) {
  const ir::Model model = inferred(R"(
    <ir_version: 8, opset_import: ["" : 17, "com.microsoft" : 1, "com.amd.quark" : 1, "com.vai.quantize" : 1]>
    g (float[2,3] x) => (y, b, m) <float s = {1}, uint16 z = {0}, int8 v = {0}, float16 e = {1}> {
      q = com.microsoft.QuantizeLinear(x, s, z)
      d = com.microsoft.DequantizeLinear(q, s, z)
      r = com.amd.quark.ExtendedQuantizeLinear(d, s, v)
      h = com.amd.quark.ExtendedDequantizeLinear(r, e)
      t = com.vai.quantize.VitisQuantizeLinear <pof2s = 1> (d, s, v)
      y = com.amd.quark.ExtendedDequantizeLinear(r, s, v)
      b = com.amd.quark.BFPQuantizeDequantize <bit_width = 16> (y)
      m = com.amd.quark.MXQuantizeDequantize <element_dtype = "int8"> (b)
    })");
  EXPECT_EQ(type_of(model, "q"), "UINT16[2,3]");
  EXPECT_EQ(type_of(model, "d"), "FLOAT[2,3]");
  EXPECT_EQ(type_of(model, "r"), "INT8[2,3]");
  EXPECT_EQ(type_of(model, "h"), "FLOAT16[2,3]");
  EXPECT_EQ(type_of(model, "t"), "INT8[2,3]");
  EXPECT_EQ(type_of(model, "m"), "FLOAT[2,3]");
}

TEST(InferTest, PassesUnknownOperatorsBy) {
  const ir::Model model = inferred(R"(<ir_version: 8, opset_import: ["" : 17, "my.domain" : 3]>
    g (float[2] x) => (float[2] y) { h = my.domain.Strange(x)  y = Relu(h)  z = Neg(x) })");
  EXPECT_EQ(type_of(model, "h"), "?");
  EXPECT_EQ(type_of(model, "z"), "FLOAT[2]");
  EXPECT_EQ(check_model(model).message(), "");
}

TEST(InferTest, KeepsWhatTheModelSays) {
  ir::Model model = parsed(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[N,4] x) => (float[7,4] y) <float[9,9] a> { a = Relu(x)  y = Neg(a)  z = Abs(x) })");
  Diagnostics diagnostics;
  ASSERT_TRUE(infer_types(model, diagnostics).ok());
  EXPECT_EQ(type_of(model, "a"), "FLOAT[9,9]");
  EXPECT_EQ(type_of(model, "y"), "FLOAT[7,4]");
  EXPECT_EQ(type_of(model, "z"), "FLOAT[N,4]");
}

TEST(InferTest, MergesTypes) {
  const ir::ValueType nothing;
  const ir::ValueType half{ElementType::kFloat, true, {{-1, "N"}, {-1, ""}, {5, ""}}, {}};
  const ir::ValueType other{ElementType::kInt8, true, {{2, ""}, {-1, "M"}, {6, ""}}, {}};
  EXPECT_EQ(merge_types(nothing, half), half);
  EXPECT_EQ(merge_types(half, nothing), half);
  EXPECT_EQ(ir::type_text(merge_types(half, other)), "FLOAT[2,M,5]");
  const ir::ValueType flat{ElementType::kFloat, true, {{4, ""}}, {}};
  EXPECT_EQ(merge_types(half, flat), half);
}

TEST(InferTest, LeavesLargeWeightsOutOfTheSkeleton) {
  ir::Model model = parsed(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[2000] x) => (y) { y = Relu(x) })");
  ir::GraphEdit edit(model.graph);
  edit.add_initializer("large", ir::Tensor::zeros(ElementType::kFloat, {2000}));
  edit.add_initializer("small", ir::Tensor::zeros(ElementType::kFloat, {1024}));
  ir::NodeSpec constant{.op = "Constant", .domain = "", .name = "", .inputs = {}, .outputs = {edit.add_value("c")}};
  constant.attributes = {{"value", ir::Tensor::zeros(ElementType::kInt8, {5000}), {}, {}}};
  edit.add_node(std::move(constant));
  const Skeleton skeleton = make_skeleton(model);
  EXPECT_EQ(skeleton.left_out.size(), 1u);
  EXPECT_EQ(skeleton.left_out_nodes.size(), 1u);
  EXPECT_EQ(skeleton.proto.graph().initializer_size(), 1);
  EXPECT_EQ(skeleton.proto.graph().input_size(), 3);
  EXPECT_EQ(skeleton.proto.graph().node_size(), 1);
  Diagnostics diagnostics;
  ASSERT_TRUE(infer_types(model, diagnostics).ok());
  EXPECT_EQ(type_of(model, "c"), "INT8[5000]");
}

struct CheckRow {
  const char* name;
  const char* body;
  const char* cause;  ///< part of the message; "" when valid
};

TEST(CheckModelTest, FindsWhatIsNotValid) {
  const CheckRow rows[] = {
      {"valid", "y = Relu(x)", ""},
      {"unknown op", "y = Reluu(x)", "Reluu"},
      {"experimental op", "y = Affine <alpha = 1.0, beta = 0.0> (x)", "Affine"},
      {"missing attribute", "h = Cast(x)  y = Relu(h)", "to"},
      {"too many inputs", "y = Relu(x, x)", "Relu"},
      {"unknown attribute", "y = Relu <beta = 1> (x)", "beta"},
      {"shapes that do not fit", "h = Constant <value_floats = [1.0, 2.0, 3.0]> ()  y = Add(x, h)",
       "Incompatible dimensions"},
  };
  for (const CheckRow& row : rows) {
    const ir::Model model =
        parsed(cat("<ir_version: 8, opset_import: [\"\" : 17]> g (float[2] x) => (float[2] y) {", row.body, "}"));
    const Status status = check_model(model);
    EXPECT_EQ(status.ok(), *row.cause == '\0') << row.name << ": " << status.message();
    EXPECT_NE(status.message().find(row.cause), std::string::npos) << row.name << ": " << status.message();
    EXPECT_EQ(status.message().find('\n'), std::string::npos);
  }
}

TEST(CheckModelTest, AcceptsIrVersionsNewerThanTheLibrary) {
  const ir::Model model = parsed(R"(<ir_version: 13, opset_import: ["" : 24]>
    g (float[2] x) => (float[2] y) { y = Relu(x) })");
  EXPECT_EQ(check_model(model).message(), "");
}

TEST(TextTest, PrintsWhatItParses) {
  const ir::Model model = parsed(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[N,4] x) => (float[N,4] y) <float[4] w = {1, 2, 3, 4}> {
      h = Mul(x, w)
      y = LeakyRelu <alpha = 0.5> (h)
    })");
  const ir::Model again = parsed(model_text(model));
  EXPECT_EQ(ir::dump(again), ir::dump(model));
}

TEST(TextTest, SaysWhereTheTextIsWrong) {
  const Result<ir::Model> model = parse_model_text("<ir_version: 8> g (x) => (y) { y = }");
  EXPECT_EQ(model.status().code(), Code::kCorruptModel);
  EXPECT_FALSE(parse_model_text("").ok());
}

}  // namespace
}  // namespace quarkq::onnx_io

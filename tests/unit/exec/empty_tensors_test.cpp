// SPDX-License-Identifier: MIT
// Tensors without elements: every operator below runs on them, and its outputs have the shapes that the onnx library
// infers for the model.
#include "support/pass_support.h"

namespace quarkq::test {
namespace {

struct EmptyCase {
  const char* name;
  std::string model;
  int opset = 17;
};

/// One float input x of this shape, one output whose shape is inferred.
std::string unary(const std::string& shape, const std::string& node, const std::string& constants = "",
                  const std::string& output = "float") {
  return cat("g (float[", shape, "] x) => (", output, "[] y) ", constants.empty() ? "" : "<" + constants + "> ", "{ ",
             node, " }");
}

const std::vector<EmptyCase>& empty_cases() {
  static const std::vector<EmptyCase> table = [] {
    std::vector<EmptyCase> cases;
    for (const char* op : {"Abs",        "Acos",     "Acosh",   "Asin",        "Asinh",      "Atan",
                           "Atanh",      "Ceil",     "Celu",    "Cos",         "Cosh",       "Elu",
                           "Erf",        "Exp",      "Floor",   "HardSigmoid", "HardSwish",  "Identity",
                           "LeakyRelu",  "Log",      "Mish",    "Neg",         "Reciprocal", "Relu",
                           "Round",      "Selu",     "Sigmoid", "Sign",        "Sin",        "Sinh",
                           "Softplus",   "Softsign", "Sqrt",    "Tan",         "Tanh",       "ThresholdedRelu",
                           "LogSoftmax", "Softmax"}) {
      cases.push_back({op, unary("0, 3", cat("y = ", op, " (x)")), 18});
    }
    for (const char* op : {"Add", "Sub", "Mul", "Div", "Max", "Min", "Pow", "PRelu"}) {
      cases.push_back({op, unary("0, 3", cat("y = ", op, " (x, k)"), "float[3] k = {1, 2, 3}")});
      cases.push_back({op, unary("2, 0, 3", cat("y = ", op, " (x, k)"), "float[1] k = {2}")});
    }
    for (const char* op : {"ReduceSum", "ReduceMean", "ReduceProd", "ReduceL1", "ReduceL2", "ReduceSumSquare"}) {
      const bool has_input = std::string(op) == "ReduceSum";
      const std::string axis = has_input ? cat("y = ", op, " (x, a)") : cat("y = ", op, " <axes = [1]> (x)");
      cases.push_back({op, unary("0, 3", axis, "int64[1] a = {1}")});
    }
    return cases;
  }();
  return table;
}

const EmptyCase kShaped[] = {
    {"Transpose", unary("2, 0, 3", "y = Transpose <perm = [2, 0, 1]> (x)")},
    {"Reshape", unary("2, 0, 3", "y = Reshape (x, s)", "int64[2] s = {0, 0}")},
    {"ReshapeToOtherZeros", unary("2, 0, 3", "y = Reshape <allowzero = 1> (x, s)", "int64[3] s = {3, 0, 7}")},
    {"Flatten", unary("2, 0, 3", "y = Flatten (x)")},
    {"Squeeze", unary("1, 0, 3", "y = Squeeze (x, a)", "int64[1] a = {0}")},
    {"Unsqueeze", unary("0, 3", "y = Unsqueeze (x, a)", "int64[1] a = {1}")},
    {"ConcatAlongIt", unary("0, 3", "y = Concat <axis = 0> (x, k)", "float[1, 3] k = {1, 2, 3}")},
    {"ConcatAcross", unary("0, 3", "y = Concat <axis = 1> (x, x)")},
    {"SliceToNothing", unary("4, 3", "y = Slice (x, s, s)", "int64[1] s = {2}")},
    {"SliceOfNothing", unary("0, 3", "y = Slice (x, s, e, a)", "int64[1] s = {1}, int64[1] e = {3}, int64[1] a = {1}")},
    {"Split", "g (float[3, 2] x) => (float[] y, float[] z) <int64[2] s = {0, 3}> { y, z = Split (x, s) }"},
    {"GatherNothing", unary("4, 3", "y = Gather (x, i)", "int64[0] i = {}")},
    {"GatherAcross", unary("0, 3", "y = Gather <axis = 1> (x, i)", "int64[2] i = {0, 2}")},
    {"TileByZero", unary("2, 3", "y = Tile (x, r)", "int64[2] r = {0, 2}")},
    {"TileOfNothing", unary("0, 3", "y = Tile (x, r)", "int64[2] r = {2, 2}")},
    {"Expand", unary("0, 1", "y = Expand (x, s)", "int64[2] s = {1, 4}")},
    {"PadOfNothing", unary("0, 3", "y = Pad (x, p)", "int64[4] p = {0, 1, 0, 1}")},
    {"PadGrowsFromNothing", unary("0, 3", "y = Pad (x, p)", "int64[4] p = {1, 0, 1, 0}")},
    {"ReduceMaxAcross", unary("0, 3", "y = ReduceMax <axes = [1]> (x)")},
    {"ReduceSumOfNothing", unary("0, 3", "y = ReduceSum (x, a)", "int64[1] a = {0}")},
    {"ArgMaxAcross", unary("0, 3", "y = ArgMax <axis = 1> (x)", "", "int64")},
    {"MatMulOfNoRows", unary("0, 4", "y = MatMul (x, w)", "float[4, 2] w = {1, 2, 3, 4, 5, 6, 7, 8}")},
    {"MatMulOverNothing", "g (float[3, 0] x, float[0, 2] v) => (float[] y) { y = MatMul (x, v) }"},
    {"MatMulOfNoMatrices", "g (float[0, 2, 3] x, float[0, 3, 4] v) => (float[] y) { y = MatMul (x, v) }"},
    {"GemmOfNoRows",
     unary("0, 4", "y = Gemm (x, w, b)", "float[4, 2] w = {1, 2, 3, 4, 5, 6, 7, 8}, float[2] b = {1, 2}")},
    {"GemmOverNothing", "g (float[3, 0] x, float[0, 2] v) => (float[] y) <float[2] b = {1, 2}> { y = Gemm (x, v, b) }"},
    {"ConvOfNoImages", unary("0, 2, 4, 4", "y = Conv (x, w)", "float[3, 2, 1, 1] w = {1, 2, 3, 4, 5, 6}")},
    {"BatchNormalization", unary("0, 2, 4, 4", "y = BatchNormalization (x, s, s, s, s)", "float[2] s = {1, 2}")},
    {"InstanceNormalization", unary("0, 2, 4, 4", "y = InstanceNormalization (x, s, s)", "float[2] s = {1, 2}")},
    {"LayerNormalization", unary("0, 2", "y = LayerNormalization (x, s)", "float[2] s = {1, 2}")},
    {"DepthToSpace", unary("0, 4, 2, 2", "y = DepthToSpace <blocksize = 2> (x)")},
    {"Cast", unary("0, 3", "y = Cast <to = 7> (x)", "", "int64")},
    {"Where", "g (bool[0, 3] c, float[3] x) => (float[] y) { y = Where (c, x, x) }"},
    {"Clip", unary("0, 3", "y = Clip (x, l)", "float l = {0}")},
    {"Einsum", "g (float[3, 0] x, float[0, 2] v) => (float[] y) { y = Einsum <equation = \"ij,jk->ik\"> (x, v) }"},
    {"CumSum", unary("0, 3", "y = CumSum (x, a)", "int64 a = {1}")},
    {"Shape", unary("2, 0, 3", "y = Shape (x)", "", "int64")},
    {"Size", unary("2, 0, 3", "y = Size (x)", "", "int64")},
    {"ConstantOfShape",
     "g (float[1] x) => (float[] y) <int64[2] s = {0, 4}> { k = ConstantOfShape (s) y = Identity (k) }"},
    {"QuantizeLinear", unary("0, 3", "y = QuantizeLinear (x, s, z)", "float s = {0.5}, int8 z = {0}", "int8")},
    {"QuantizeDequantize",
     unary("0, 3", "q = QuantizeLinear (x, s, z) y = DequantizeLinear (q, s, z)", "float s = {0.5}, int8 z = {0}")},
    {"GatherElements", "g (float[2, 3] x, int64[0, 3] i) => (float[] y) { y = GatherElements (x, i) }"},
    {"ScatterElements",
     "g (float[2, 3] x, int64[0, 3] i, float[0, 3] u) => (float[] y) { y = ScatterElements (x, i, u) }"},
    {"GatherND", "g (float[2, 3] x, int64[0, 2] i) => (float[] y) { y = GatherND (x, i) }"},
    {"OneHot", "g (int64[0] i) => (float[] y) <int64 d = {4}, float[2] v = {0, 1}> { y = OneHot (i, d, v) }"},
    {"TopK", "g (float[0, 5] x) => (float[] y, int64[] i) <int64[1] k = {2}> { y, i = TopK (x, k) }"},
    {"Trilu", unary("0, 3", "y = Trilu (x)")},
    {"LpNormalization", unary("0, 3", "y = LpNormalization (x)")},
    {"ReduceLogSumExpAcross", unary("0, 3", "y = ReduceLogSumExp <axes = [1]> (x)")},
};

/// Zeros of each input's type; ones of no use here.
std::vector<ir::Tensor> zero_inputs(const ir::Graph& graph) {
  std::vector<ir::Tensor> inputs;
  for (const ir::ValueId id : graph.required_inputs()) {
    const ir::ValueType& type = graph.value(id).type;
    inputs.push_back(ir::Tensor::zeros(type.element, type.shape()));
  }
  return inputs;
}

/// The shapes of the outputs as inferred: the declared "[]" is removed first, because it would be a scalar.
std::vector<ir::ValueType> inferred_types(ir::Model& model) {
  std::vector<ir::ValueType> types;
  for (const ir::ValueId id : model.graph.outputs()) {
    ir::Value& value = ir::GraphEdit(model.graph).mutable_value(id);
    value.type.has_shape = false;
    value.type.dims.clear();
  }
  Diagnostics ignored;
  EXPECT_TRUE(onnx_io::infer_types(model, ignored).ok());
  for (const ir::ValueId id : model.graph.outputs()) types.push_back(model.graph.value(id).type);
  return types;
}

/// What is said when the model runs on zeros, or "".
std::string refusal_of(const std::string& body) {
  Result<ir::Model> parsed = onnx_io::parse_model_text(cat("<ir_version: 8, opset_import: [\"\" : 18]>\n", body));
  EXPECT_TRUE(parsed.ok()) << parsed.status().message();
  if (!parsed.ok()) return {};
  exec::Session session(parsed.value(), {}, {});
  const auto results = session.run(zero_inputs(parsed.value().graph));
  return results.ok() ? "" : results.status().message();
}

void expect_inferred_shapes(const EmptyCase& row) {
  SCOPED_TRACE(cat(row.name, ": ", row.model));
  Result<ir::Model> parsed =
      onnx_io::parse_model_text(cat("<ir_version: 8, opset_import: [\"\" : ", row.opset, "]>\n", row.model));
  ASSERT_TRUE(parsed.ok()) << parsed.status().message();
  ir::Model model = std::move(parsed).value();
  const std::vector<ir::ValueType> types = inferred_types(model);
  exec::Session session(model, {}, {});
  const auto results = session.run(zero_inputs(model.graph));
  ASSERT_TRUE(results.ok()) << results.status().message();
  ASSERT_EQ(results.value()->size(), types.size());
  for (size_t i = 0; i < types.size(); ++i) {
    const ir::Tensor& found = (*results.value())[i];
    EXPECT_EQ(found.type(), types[i].element);
    EXPECT_TRUE(!types[i].is_static() || found.dims() == types[i].shape()) << shape_text(found.dims());
  }
}

TEST(EmptyTensorsTest, ElementwiseAndReductions) {
  for (const EmptyCase& row : empty_cases()) expect_inferred_shapes(row);
}

TEST(EmptyTensorsTest, OperatorsThatLookAtShapes) {
  for (const EmptyCase& row : kShaped) expect_inferred_shapes(row);
}

/// No images are taken by every pool; windows need a pixel where there is an image.
TEST(EmptyTensorsTest, PoolsTakeNoImagesButNotEmptyOnes) {
  for (const char* node : {"MaxPool <kernel_shape = [2, 2]> (x)", "AveragePool <kernel_shape = [2, 2]> (x)",
                           "LpPool <kernel_shape = [2, 2], strides = [2, 2]> (x)", "GlobalAveragePool (x)",
                           "GlobalMaxPool (x)", "GlobalLpPool (x)"}) {
    expect_inferred_shapes({"no images", unary("0, 2, 4, 4", cat("y = ", node))});
    for (const char* shape : {"1, 0, 4, 4", "1, 2, 0, 4", "0, 2, 0, 4"})
      EXPECT_NE(refusal_of(unary(shape, cat("y = ", node))).find("an image without elements"), std::string::npos)
          << node << " of [" << shape << "]";
  }
  expect_inferred_shapes(
      {"indices", "g (float[0, 2, 4, 4] x) => (float[] y, int64[] i) { y, i = MaxPool <kernel_shape = [2, 2]> (x) }"});
}

TEST(EmptyTensorsTest, ResizeKeepsEmptyAxes) {
  for (const char* mode : {"nearest", "linear", "cubic"}) {
    const std::string attributes = cat("<mode = \"", mode, "\"> ");
    for (const char* shape : {"0, 2, 4, 4", "1, 0, 4, 4", "1, 2, 0, 4", "1, 2, 4, 0"})
      expect_inferred_shapes(
          {mode, unary(shape, cat("y = Resize ", attributes, "(x, , f)"), "float[4] f = {1, 1, 2, 2.5}")});
    expect_inferred_shapes(
        {mode, unary("0, 2, 4, 4", cat("y = Resize ", attributes, "(x, , , s)"), "int64[4] s = {0, 2, 7, 3}")});
    expect_inferred_shapes(
        {mode, unary("1, 2, 3, 0", cat("y = Resize ", attributes, "(x, , f)"), "float[4] f = {1, 2, 2.5, 1}")});
    EXPECT_NE(refusal_of(unary("0, 2, 4, 4", cat("y = Resize ", attributes, "(x, , , s)"), "int64[4] s = {1, 2, 7, 3}"))
                  .find("size 1, allowed: 0 to 0"),
              std::string::npos);
  }
  EXPECT_NE(refusal_of(unary("0, 2, 4, 4", "y = Resize <keep_aspect_ratio_policy = \"not_larger\"> (x, , , s)",
                             "int64[4] s = {0, 2, 7, 3}"))
                .find("keeps the aspect ratio of an empty axis"),
            std::string::npos);
}

/// The first result of the model on zeros.
std::vector<double> first_result(const std::string& body) {
  const ir::Model model = model_of(body);
  exec::Session session(model, {}, {});
  const auto results = session.run(zero_inputs(model.graph));
  EXPECT_TRUE(results.ok()) << results.status().message();
  return results.ok() ? ir::to_double((*results.value())[0]).value() : std::vector<double>{};
}

TEST(EmptyTensorsTest, SumsOfNothingAreTheNeutralElement) {
  EXPECT_EQ(first_result("g (float[0, 2] x) => (float[1, 2] y) <int64[1] a = {0}> { y = ReduceSum (x, a) }"),
            (std::vector<double>{0, 0}));
  EXPECT_EQ(first_result("g (float[0, 2] x) => (float[1, 2] y) { y = ReduceProd <axes = [0]> (x) }"),
            (std::vector<double>{1, 1}));
  EXPECT_EQ(first_result("g (float[2, 0] x, float[0, 2] v) => (float[2, 2] y) { y = MatMul (x, v) }"),
            (std::vector<double>{0, 0, 0, 0}));
  EXPECT_EQ(
      first_result("g (float[2, 0] x, float[0, 2] v) => (float[2, 2] y) <float[2] b = {3, 4}> { y = Gemm (x, v, b) }"),
      (std::vector<double>{3, 4, 3, 4}));
  EXPECT_EQ(
      first_result(
          "g (float[0, 2] x) => (float[2, 2] y) <int64[4] p = {1, 0, 1, 0}, float v = {7}> { y = Pad (x, p, v) }"),
      (std::vector<double>{7, 7, 7, 7}));
}

/// Only padding lies under the windows.
TEST(EmptyTensorsTest, ConvolutionsOfNothingAreTheBias) {
  struct Row {
    const char *image, *weights, *nodes;
    std::vector<double> expected;
  };
  const Row rows[] = {
      {"[1, 1, 0, 2]",
       "[2, 1, 2, 2] w = {1, 2, 3, 4, 5, 6, 7, 8}",
       "y = Conv <pads = [1, 0, 1, 0]> (x, W, B)",
       {-1, 2}},
      {"[1, 1, 0, 2]", "[2, 1, 2, 2] w = {1, 2, 3, 4, 5, 6, 7, 8}", "y = Conv <pads = [1, 0, 1, 0]> (x, W)", {0, 0}},
      {"[1, 0, 1, 2]", "[2, 0, 1, 1] w = {}", "y = Conv (x, W, B)", {-1, -1, 2, 2}},
      {"[1, 0, 1, 2]", "[0, 2, 1, 1] w = {}", "y = ConvTranspose (x, W, B)", {-1, -1, 2, 2}},
      {"[1, 0, 1, 1]", "[2, 0, 1, 1] w = {}", "c = Conv (x, W, B) y = Relu (c)", {0, 2}},
      {"[1, 0, 1, 1]", "[2, 0, 1, 1] w = {}", "c = Conv (x, W, B) y = Add (c, R)", {4, 8}},
  };
  for (const auto& [type, code] : {std::pair("float", 1), {"float16", 10}, {"double", 11}}) {
    for (const Row& row : rows) {
      SCOPED_TRACE(cat(type, " ", row.nodes));
      const std::string cast = cat(" = Cast <to = ", code, "> ");
      EXPECT_EQ(first_result(cat("g (", type, row.image, " x) => (", type, "[N, C, H, W] y) <float", row.weights,
                                 ", float[2] b = {-1, 2}, float[1, 2, 1, 1] r = {5, 6}> { W", cast, "(w) B", cast,
                                 "(b) R", cast, "(r) ", row.nodes, " }")),
                row.expected);
    }
  }
}

}  // namespace
}  // namespace quarkq::test

// SPDX-License-Identifier: MIT
// Shapes that no run can compute with are refused by the name of their node; unknown ones, and those that fit, are not.
#include "io_test_support.h"
#include "onnx_io/check_model.h"
#include "onnx_io/text.h"

namespace quarkq::onnx_io {
namespace {

struct ShapeCase {
  const char *name, *inputs, *output, *node;
  const char* problem;  ///< part of the message; nullptr: it fits
};

Status checked(const ShapeCase& row) {
  const Result<ir::Model> model =
      parse_model_text(cat("<ir_version: 8, opset_import: [\"\" : 17, \"com.microsoft\" : 1]> g (", row.inputs,
                           ") => (", row.output, " y) { [layer] ", row.node, " }"));
  if (!model.ok()) return model.status();
  return check_model(model.value());
}

class CheckShapesTest : public ::testing::TestWithParam<ShapeCase> {};

INSTANTIATE_TEST_SUITE_P(
    Rows, CheckShapesTest,
    ::testing::Values(
        ShapeCase{"gemm", "float[2,6] a, float[4,6] b", "float[M,N]", "y = Gemm (a, b)",
                  "inner dimensions differ: [2,6] times [4,6]"},
        ShapeCase{"gemm fits turned", "float[2,6] a, float[4,6] b", "float[M,N]", "y = Gemm <transB = 1> (a, b)",
                  nullptr},
        ShapeCase{"gemm turned", "float[6,2] a, float[6,4] b", "float[M,N]", "y = Gemm <transA = 1, transB = 1> (a, b)",
                  "with transA 1"},
        ShapeCase{"gemm of unknown", "float[2,K] a, float[4,6] b", "float[M,N]", "y = Gemm (a, b)", nullptr},
        ShapeCase{"conv", "float[1,3,8,8] x, float[4,2,3,3] w", "float[A,B,C,D]", "y = Conv (x, w)",
                  "has 3 channels, the weights [4,2,3,3]"},
        ShapeCase{"conv fits", "float[1,4,8,8] x, float[4,2,3,3] w", "float[A,B,C,D]", "y = Conv <group = 2> (x, w)",
                  nullptr},
        ShapeCase{"conv of unknown", "float[1,C,8,8] x, float[4,2,3,3] w", "float[A,B,C,D]", "y = Conv (x, w)",
                  nullptr},
        ShapeCase{"conv of groups", "float[1,4,8,8] x, float[3,2,3,3] w", "float[A,B,C,D]",
                  "y = Conv <group = 2> (x, w)", "group 2 does not divide 3 outputs"},
        ShapeCase{"integer conv", "uint8[1,3,8,8] x, int8[4,2,3,3] w", "int32[A,B,C,D]", "y = ConvInteger (x, w)",
                  "has 3 channels"},
        ShapeCase{"conv of integers",
                  "uint8[1,3,8,8] x, float s, uint8 z, int8[4,2,3,3] w, float t, int8 v, float u, uint8 o",
                  "uint8[A,B,C,D]", "y = QLinearConv (x, s, z, w, t, v, u, o)", "has 3 channels"},
        ShapeCase{"transposed conv", "float[1,3,8,8] x, float[2,4,3,3] w", "float[A,B,C,D]", "y = ConvTranspose (x, w)",
                  "has 3 channels, the weights are [2,4,3,3]"},
        ShapeCase{"transposed conv of groups", "float[1,3,8,8] x, float[3,4,3,3] w", "float[A,B,C,D]",
                  "y = ConvTranspose <group = 2> (x, w)", "group 2 does not divide 3 channels"},
        ShapeCase{"transposed conv fits", "float[1,2,8,8] x, float[2,4,3,3] w", "float[A,B,C,D]",
                  "y = ConvTranspose <group = 2> (x, w)", nullptr},
        ShapeCase{"bits", "float[2,6] a, uint8[4,1,8] b, float[4] s", "float[M,N]",
                  "y = com.microsoft.MatMulNBits <K = 4, N = 4, bits = 4, block_size = 16> (a, b, s)", "K is 4"},
        ShapeCase{"bits of codes", "float[2,6] a, uint8[4,1,8] b, float[4] s", "float[M,N]",
                  "y = com.microsoft.MatMulNBits <K = 6, N = 4, bits = 8, block_size = 16> (a, b, s)",
                  "bits 8 need 4x1x16"},
        ShapeCase{"bits fit", "float[2,6] a, uint8[4,1,8] b, float[4] s", "float[M,N]",
                  "y = com.microsoft.MatMulNBits <K = 6, N = 4, bits = 4, block_size = 16> (a, b, s)", nullptr}),
    [](const auto& info) {
      std::string name = info.param.name;
      std::replace(name.begin(), name.end(), ' ', '_');
      return name;
    });

TEST_P(CheckShapesTest, RefusesWhatCannotRun) {
  const ShapeCase& row = GetParam();
  const Status status = checked(row);
  if (row.problem == nullptr) {
    EXPECT_TRUE(status.ok()) << status.message();
    return;
  }
  EXPECT_EQ(status.code(), Code::kCorruptModel);
  EXPECT_NE(status.message().find(row.problem), std::string::npos) << status.message();
  EXPECT_NE(status.message().find("node layer ("), std::string::npos) << status.message();
}

TEST(CheckNestedShapesTest, LeavesGraphsThatMayNeverRun) {
  const Result<ir::Model> model = parse_model_text(
      "<ir_version: 8, opset_import: [\"\" : 17]> g (bool c, float[2,6] a, float[4,6] b) => (float[M,N] y) { y = If "
      "(c) <"
      "then_branch = t () => (float[M,N] u) { u = Gemm (a, b) }, "
      "else_branch = e () => (float[M,N] v) { v = Gemm <transB = 1> (a, b) }> }");
  ASSERT_TRUE(model.ok()) << model.status().message();
  EXPECT_TRUE(check_model(model.value()).ok()) << check_model(model.value()).message();
}

}  // namespace
}  // namespace quarkq::onnx_io

// SPDX-License-Identifier: MIT
// quarkq.mx_form: standard. Microscaling nodes and the Q/DQ nodes that replace them compute the same bits.
#include <algorithm>
#include <cmath>
#include <limits>

#include "pipeline/run/pass_runner.h"
#include "support/legalize_samples.h"
#include "support/target_models.h"

namespace quarkq::pass_tests {
namespace {

using test::expect_idle;
using test::PassBench;
using test::target_model;

constexpr const char* kElementNames[] = {"fp4_e2m1", "fp6_e2m3", "fp6_e3m2", "fp8_e4m3", "fp8_e5m2", "int8"};

/// y = MX (x) + MX (w), w of the shape of x. Values have several magnitudes, ties and zeros.
ir::Model mx_model(const ir::Shape& dims, const std::string& attributes, const std::string& type = "float") {
  std::vector<std::string> sizes, values;
  for (const int64_t size : dims) sizes.push_back(std::to_string(size));
  for (int64_t i = 0; i < ir::checked_count(dims); ++i)
    values.push_back(std::to_string(std::ldexp(i * 37 % 129 - 64, static_cast<int>(i * 11 % 13) - 5)));
  const std::string tensor = cat(type, "[", join(sizes, ", "), "]");
  const std::string node = cat("com.amd.quark.MXQuantizeDequantize <", attributes, ">");
  return target_model(cat("g (", tensor, " x) => (", tensor, " y) <", tensor, " w = {", join(values, ", "),
                          "}> { a = ", node, " (x) b = ", node, " (w) y = Add (a, b) }"),
                      {"com.amd.quark"});
}

/// A bench of a model with one MX node and no constants.
ir::Model mx_body(const std::string& body) { return target_model(body, {"com.amd.quark"}); }

int64_t count_of(const PassBench& bench, const std::string& op) {
  const std::vector<ir::NodeId> order = bench.graph().order();
  return std::ranges::count_if(order, [&](ir::NodeId id) { return bench.graph().node(id).op == op; });
}

void expect_same_bits(const ir::Shape& dims, const std::string& attributes) {
  SCOPED_TRACE(testing::PrintToString(dims) + " " + attributes);
  PassBench bench(mx_model(dims, attributes));
  test::expect_fires(bench, standard_mx, 0);
  EXPECT_EQ(count_of(bench, "MXQuantizeDequantize"), 0);
  EXPECT_EQ(count_of(bench, "DequantizeLinear"), 2);
  EXPECT_EQ(bench.model.opset(), 28);
  EXPECT_EQ(bench.model.ir_version, 14);
}

TEST(StandardMxTest, EveryElementFormatInEveryPlace) {
  for (const char* element : kElementNames) {
    const std::string type = cat("element_dtype = \"", element, "\", rounding_mode = 2");
    for (const char* up : {"", ", round_scale_up = 1"}) {
      expect_same_bits({3, 64, 5}, type + ", axis = 1, block_size = 32" + up);
      expect_same_bits({2, 40}, type + ", axis = -1, block_size = 32" + up);  // the last block has 8 elements
      expect_same_bits({33, 3}, type + ", axis = 0, block_size = 16" + up);
      expect_same_bits({7}, type + ", block_size = 32" + up);  // one block, shorter than block_size
    }
  }
}

TEST(StandardMxTest, StoresElementsAndScales) {
  PassBench bench(mx_model({2, 64}, "element_dtype = \"fp4_e2m1\", axis = 1, block_size = 32"));
  EXPECT_TRUE(bench.run(standard_mx));
  const ir::Tensor* codes = bench.graph().constant(bench.value("w_quantized"));
  const ir::Tensor* scales = bench.graph().constant(bench.value("w_quantized_scale"));
  ASSERT_TRUE(codes != nullptr && scales != nullptr);
  EXPECT_EQ(codes->type(), ElementType::kFloat4E2M1);
  EXPECT_EQ(codes->bytes(), 64);
  EXPECT_EQ(scales->type(), ElementType::kFloat8E8M0);
  EXPECT_EQ(scales->dims(), (ir::Shape{2, 2}));
  EXPECT_FALSE(bench.graph().find("w").valid()) << "the float values are not stored twice";
}

TEST(StandardMxTest, ConstantsOfInt8FollowEveryRounding) {
  for (const int mode : {0, 1, 2}) {
    ir::Model model = mx_model({4, 32}, cat("element_dtype = \"int8\", rounding_mode = ", mode));
    PassBench bench(model);
    EXPECT_TRUE(bench.run(standard_mx));
    const auto values_of_w = [](const ir::Model& from) {
      ir::Model only = from;  // y = MX (w) + 0
      exec::Session session(only, {}, {});
      const std::vector<ir::Tensor> zeros = {ir::Tensor::zeros(ElementType::kFloat, {4, 32})};
      const auto results = session.run(zeros);
      EXPECT_TRUE(results.ok()) << results.status().message();
      return ir::to_double((*results.value())[0]).value();
    };
    EXPECT_EQ(values_of_w(model), values_of_w(bench.model)) << mode;
  }
}

// The largest numbers of float32, as in masks: a doubled scale would make them infinite.
TEST(StandardMxTest, TheLargestNumbersStayFinite) {
  for (const char* element : kElementNames) {
    const ir::Model model =
        mx_body(cat("g (float[1, 4] x) => (float[1, 4] y) { y = "
                    "com.amd.quark.MXQuantizeDequantize <element_dtype = \"",
                    element, "\", round_scale_up = 1, rounding_mode = 2> (x) }"));
    PassBench bench(model);
    EXPECT_TRUE(bench.run(standard_mx));
    const std::vector<ir::Tensor> masks = {ir::Tensor::from<float>(
        {1, 4}, std::vector<float>{-std::numeric_limits<float>::max(), 0, 0x1.9p127f, 0x1p120f})};
    std::vector<std::vector<double>> found;
    for (const ir::Model* one : {&model, &static_cast<const ir::Model&>(bench.model)}) {
      exec::Session session(*one, {}, {});
      const auto results = session.run(masks);
      ASSERT_TRUE(results.ok()) << results.status().message();
      found.push_back(ir::to_double((*results.value())[0]).value());
    }
    EXPECT_EQ(found[0], found[1]) << element;
    const bool is_integer = std::string(element) == "int8";  // -128 steps of 2^121 are beyond float32
    EXPECT_EQ(std::isfinite(found[0][0]), !is_integer) << element;
  }
}

TEST(StandardMxTest, OneElementIsNotRounded) {
  PassBench bench(
      mx_body("g (float[1, 1] x) => (float[1, 1] y) { a = Neg (x) "
              "b = com.amd.quark.MXQuantizeDequantize <element_dtype = \"fp4_e2m1\"> (a) y = Abs (b) }"));
  test::expect_fires(bench, standard_mx, 0);
  EXPECT_EQ(bench.ops(), "Neg Abs");
}

TEST(StandardMxTest, FollowsADynamicBatchAndOneLaterDimension) {
  PassBench bench(
      mx_body("g (float[N, 32, L] x) => (float[N, 32, L] y) { "
              "y = com.amd.quark.MXQuantizeDequantize <element_dtype = \"fp4_e2m1\", axis = 1> (x) }"));
  EXPECT_TRUE(bench.run(standard_mx));
  EXPECT_EQ(bench.ops(), "Abs Reshape ReduceMax Min Div Cast QuantizeLinear DequantizeLinear");
}

TEST(StandardMxTest, KeepsWhatStandardOperatorsCannotExpress) {
  constexpr struct {
    const char* body;
    const char* reason;
  } kRows[] = {
      {"g (float[2, N] x) => (float[2, N] y) { y = com.amd.quark.MXQuantizeDequantize <element_dtype = \"fp4_e2m1\"> "
       "(x) }",
       "the length of axis 1 is not known"},
      {"g (float[2, 32, M, N] x) => (float[2, 32, M, N] y) { "
       "y = com.amd.quark.MXQuantizeDequantize <element_dtype = \"int8\"> (x) }",
       "several dimensions after axis 1 are not known"},
      {"g (float[2, 32] x) => (float[2, 32] y) { y = com.amd.quark.MXQuantizeDequantize <element_dtype = \"fp5\"> (x) "
       "}",
       "element_dtype is 'fp5'"},
      {"g (float[2, 32] x) => (float[2, 32] y) { "
       "y = com.amd.quark.MXQuantizeDequantize <element_dtype = \"int8\", block_size = 0> (x) }",
       "block_size is 0"},
      {"g (float[2, 32] x) => (float[2, 32] y) { "
       "y = com.amd.quark.MXQuantizeDequantize <element_dtype = \"int8\", axis = 2> (x) }",
       "axis"},
      {"g (float[2, 32] x) => (float[2, 32] y) { y = com.amd.quark.BFPQuantizeDequantize (x) }", "not formats of ONNX"},
  };
  for (const auto& row : kRows) {
    PassBench bench(mx_body(row.body));
    EXPECT_FALSE(bench.run(standard_mx)) << row.reason;
    ASSERT_EQ(bench.diagnostics.all().size(), 1u) << row.reason;
    EXPECT_EQ(bench.diagnostics.all()[0].id, "mx-not-standard");
    EXPECT_NE(bench.diagnostics.all()[0].text.find(row.reason), std::string::npos) << bench.diagnostics.all()[0].text;
  }
}

TEST(StandardMxTest, LeavesModelsWithoutMicroscalingAlone) {
  PassBench bench("g (float[2] x) => (float[2] y) { y = Neg (x) }");
  expect_idle(bench, standard_mx);
}

}  // namespace
}  // namespace quarkq::pass_tests

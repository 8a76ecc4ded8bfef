// SPDX-License-Identifier: MIT
// float16 models become float32 ones: constants, values, attributes, Casts, nested graphs.
#include "numeric/element_type.h"
#include "onnx_io/check_model.h"
#include "onnx_io/load.h"
#include "pipeline/run/pass_runner.h"
#include "support/golden_ops.h"
#include "support/golden_stages.h"
#include "support/pass_support.h"
#include "support/shared_records.h"

namespace quarkq::pass_tests {
namespace {

using test::PassBench;

// The text form wants the bits: 13312 is 0.25, 14336 is 0.5, 15360 is 1, 16384 is 2, 48128 is -1.
const char* const kHalf = R"(g (float16[1, 4] x) => (float16[1, 4] y) <float16[4] b = {14336, 48128, 16384, 13312}> {
      wide = Cast <to = 1> (x)
      e = Exp (wide)
      half = Cast <to = 10> (e)
      y = Add (half, b)
    })";

void expect_no_half(const ir::Graph& graph) {
  for (size_t i = 0; i < graph.value_count(); ++i) {
    const ir::ValueId id{static_cast<int32_t>(i)};
    if (!graph.is_alive(id)) continue;
    EXPECT_NE(graph.value(id).type.element, ElementType::kFloat16) << graph.value(id).name;
  }
}

/// Outputs for the same sample in float16 and float32, as doubles.
std::vector<std::vector<double>> outputs_of(const ir::Model& model) {
  std::mt19937 generator(3);
  std::uniform_real_distribution<float> distribution(-1, 1);
  std::vector<ir::Tensor> inputs;
  for (const ir::ValueId id : model.graph.required_inputs()) {
    const ir::ValueType& type = model.graph.value(id).type;
    ir::Shape dims;
    for (const ir::Dim& dim : type.dims) dims.push_back(dim.known() ? dim.size : 1);
    ir::Tensor tensor = ir::Tensor::zeros(type.element, dims);
    for (int64_t i = 0; i < tensor.size(); ++i) {
      const uint16_t half = float16_from_float(distribution(generator));
      if (type.element == ElementType::kFloat16) {
        tensor.mutable_data<uint16_t>()[static_cast<size_t>(i)] = half;
      } else {
        tensor.mutable_data<float>()[static_cast<size_t>(i)] = float_from_float16(half);
      }
    }
    inputs.push_back(std::move(tensor));
  }
  exec::Session session(model, {}, {});
  const auto results = session.run(inputs);
  EXPECT_TRUE(results.ok()) << results.status().message();
  std::vector<std::vector<double>> outputs;
  if (!results.ok()) return outputs;
  for (const ir::Tensor& tensor : *results.value()) outputs.push_back(ir::to_double(tensor).value());
  return outputs;
}

/// float16 rounds at the boundary and at Casts.
void expect_close(const ir::Model& before, const ir::Model& after) {
  const auto a = outputs_of(before), b = outputs_of(after);
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    ASSERT_EQ(a[i].size(), b[i].size());
    double largest = 0;
    for (const double x : a[i]) largest = std::max(largest, std::abs(x));
    for (size_t k = 0; k < a[i].size(); ++k) ASSERT_NEAR(a[i][k], b[i][k], 2e-3 * largest) << "element " << k;
  }
}

void expect_converted(PassBench& bench) {
  const ir::Model before = bench.model;
  EXPECT_TRUE(bench.run(convert_fp16_to_fp32));
  expect_no_half(bench.graph());
  expect_close(before, bench.model);
  test::expect_idle(bench, convert_fp16_to_fp32);
}

TEST(ConvertFp16ToFp32Test, ConvertsEverythingAndDropsIdleCasts) {
  PassBench bench(kHalf);
  expect_converted(bench);
  EXPECT_EQ(bench.ops(), "Exp Add");
  EXPECT_EQ(bench.graph().constant(bench.value("b"))->data<float>()[3], 0.25f);
}

TEST(ConvertFp16ToFp32Test, KeepsACastFromInputToOutput) {
  PassBench bench("g (float16[2] x) => (float[2] y, float[2] z) { y = Cast <to = 1> (x)  z = Exp (y) }");
  EXPECT_TRUE(bench.run(convert_fp16_to_fp32));
  EXPECT_EQ(bench.ops(), "Cast Exp");
  EXPECT_TRUE(onnx_io::check_model(bench.model).ok());
}

TEST(ConvertFp16ToFp32Test, ConvertsAttributesAndNestedGraphs) {
  PassBench bench(R"(g (float16[2] x) => (float16[2] y) <bool c = {1}> {
      k = Constant <value = float16[2] {14336, 15360}> ()
      s = Shape (x)
      f = ConstantOfShape <value = float16[1] {16384}> (s)
      i = If (c) <then_branch = t () => (float16[2] t1) { tc = Constant <value = float16[2] {15360, 16384}> ()
                                                          t1 = Add (tc, x) },
                  else_branch = e () => (float16[2] e1) { e0 = Cast <to = 1> (x)  e1 = Cast <to = 10> (e0) }>
      a = Add (k, f)
      y = Mul (a, i)
    })");
  expect_converted(bench);
  const auto* branch = bench.node("If").get<ir::GraphPtr>("then_branch");
  ASSERT_NE(branch, nullptr);
  expect_no_half(**branch);
}

TEST(ConvertFp16ToFp32Test, LeavesFloat32AndBFloat16Alone) {
  PassBench plain("g (float[2] x) => (bfloat16[2] y) { e = Exp (x)  y = Cast <to = 16> (e) }");
  test::expect_idle(plain, convert_fp16_to_fp32);
}

TEST(ConvertFp16ToFp32Test, RefusesWhatItCannotLookInto) {
  PassBench sequence(test::model_of(R"(g (seq(float16[2]) s) => (float16[2] y) <int64 i = {0}> {
      y = SequenceAt (s, i)
    })"));
  test::expect_idle(sequence, convert_fp16_to_fp32);
  ASSERT_EQ(sequence.diagnostics.all().size(), 1U);
  EXPECT_EQ(sequence.diagnostics.all()[0].id, "float16-not-converted");
}

TEST(ConvertFp16ToFp32Test, ASequenceInsideIsTypedAgain) {
  PassBench bench(R"(g (float16[2] x) => (float16[4] y) {
      s = SequenceConstruct (x, x)
      y = ConcatFromSequence <axis = 0> (s)
    })");
  expect_converted(bench);
}

TEST(ConvertFp16ToFp32Test, SharedModels) {
  Result<ir::Model> small = onnx_io::load(test::golden_ops_folder() + "half_precision.onnx");
  QQ_NEED_RECORD(small.ok());
  PassBench bench(std::move(small).value());
  expect_converted(bench);
  EXPECT_EQ(bench.ops(), "Conv Relu Conv");
  PassBench digits(test::shared_model("mobilenetv3_digits_fp16"));
  expect_converted(digits);
}

}  // namespace
}  // namespace quarkq::pass_tests

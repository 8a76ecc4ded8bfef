// SPDX-License-Identifier: MIT
// Channels-last inputs and outputs.
#include "calib/reader/fit_samples.h"
#include "calib/sample_readers.h"
#include "exec/layout.h"
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

std::string dims_of(const PassBench& bench, const std::string& value) {
  std::vector<std::string> dims;
  for (const ir::Dim& dim : bench.graph().value(bench.value(value)).type.dims)
    dims.push_back(dim.known() ? cat(dim.size) : dim.symbol);
  return join(dims, " ");
}

size_t count(const Diagnostics& diagnostics, const std::string& id) {
  size_t found = 0;
  for (const Diagnostic& diagnostic : diagnostics.all()) found += diagnostic.id == id ? 1 : 0;
  return found;
}

/// Fires once; outputs of transposed samples are the transposed outputs.
void expect_channels_last(PassBench& bench) {
  const ir::Model before = bench.model;
  EXPECT_TRUE(bench.run(convert_nchw_to_nhwc));
  EXPECT_TRUE(onnx_io::check_model(bench.model).ok()) << onnx_io::check_model(bench.model).message();
  std::mt19937 generator(1);
  std::uniform_real_distribution<float> distribution(-2, 2);
  std::vector<ir::Tensor> first, last;
  for (const ir::ValueId id : before.graph.required_inputs()) {
    ir::Tensor tensor = ir::Tensor::zeros(ElementType::kFloat, before.graph.value(id).type.shape());
    for (float& value : tensor.mutable_data<float>()) value = distribution(generator);
    first.push_back(tensor);
    last.push_back(tensor.rank() == 4 ? exec::in_layout(tensor, exec::Layout::kChannelsLast) : tensor);
  }
  exec::Session a(before, {}, {}), b(bench.model, {}, {});
  const auto x = a.run(first), y = b.run(last);
  ASSERT_TRUE(x.ok() && y.ok()) << y.status().message();
  for (size_t i = 0; i < x.value()->size(); ++i) {
    const ir::Tensor& plain = (*x.value())[i];
    const ir::Tensor wanted = plain.rank() == 4 ? exec::in_layout(plain, exec::Layout::kChannelsLast) : plain;
    ASSERT_EQ(wanted.dims(), (*y.value())[i].dims());
    const auto expected = wanted.data<float>(), found = (*y.value())[i].data<float>();
    for (size_t k = 0; k < expected.size(); ++k) ASSERT_NEAR(expected[k], found[k], 1e-5) << "element " << k;
  }
  test::expect_idle(bench, convert_nchw_to_nhwc);
}

TEST(ConvertNchwToNhwcTest, TransposesInputsAndOutputs) {
  PassBench bench(R"(g (float[1, 2, 5, 6] x, float[1, 2] z) => (float[1, 2, 5, 6] y, float[1, 2] v) {
      a = Relu (x)
      y = Add (a, x)
      v = Neg (z)
    })");
  expect_channels_last(bench);
  EXPECT_EQ(bench.ops(), "Transpose Relu Add Neg Transpose");
  EXPECT_EQ(dims_of(bench, "x"), "1 5 6 2");
  EXPECT_EQ(dims_of(bench, "x_transpose"), "1 2 5 6");
  EXPECT_EQ(bench.graph().value(bench.graph().outputs()[0]).name, "y_transpose");
  EXPECT_EQ(dims_of(bench, "y_transpose"), "1 5 6 2");
  EXPECT_EQ(bench.graph().value(bench.graph().outputs()[1]).name, "v");
  EXPECT_EQ(count(bench.diagnostics, "channels-not-first"), 0U);
}

TEST(ConvertNchwToNhwcTest, KeepsReadersOfAnOutput) {
  PassBench bench(R"(g (float[1, 2, 5, 6] x) => (float[1, 2, 5, 6] y, float[1, 2, 5, 6] w) {
      y = Relu (x)
      w = Neg (y)
    })");
  expect_channels_last(bench);
  EXPECT_EQ(bench.node("Neg").input(0), bench.value("y"));
}

TEST(ConvertNchwToNhwcTest, TakenNamesGetGrowingSuffixes) {
  PassBench bench(R"(g (float[1, 2, 5, 6] x) => (float[1, 2, 5, 6] y) {
      x_transpose = Neg (x)
      [x_transpose_1] a = Relu (x_transpose)
      y = Abs (a)
    })");
  expect_channels_last(bench);
  EXPECT_TRUE(bench.value("x_transpose_1_2").valid());
}

TEST(ConvertNchwToNhwcTest, SkipsUnknownSizesAndOtherRanks) {
  PassBench unknown(
      test::model_of("g (float[N, C, 5, 6] x, float[3] z) => (float[3] y) { s = Shape (x)  y = Abs (z) }"));
  test::expect_idle(unknown, convert_nchw_to_nhwc);
  EXPECT_EQ(count(unknown.diagnostics, "input-not-channels-last"), 2U);
}

TEST(ConvertNchwToNhwcTest, SkipsElementsThatSamplesCannotBeMovedIn) {
  for (const ElementType type : {ElementType::kInt4, ElementType::kString}) {
    PassBench bench("g (float[1, 2, 5, 6] x) => (int64 s, float[1, 2, 5, 6] y) { s = Size (x)  y = Identity (x) }");
    ir::GraphEdit edit(bench.model.graph);
    for (const char* name : {"x", "y"}) {
      ir::ValueType moved = bench.graph().value(bench.value(name)).type;
      moved.element = type;
      edit.set_type(bench.value(name), std::move(moved));
    }
    test::expect_idle(bench, convert_nchw_to_nhwc);
    EXPECT_EQ(count(bench.diagnostics, "input-not-channels-last"), 1U);
  }
}

TEST(ConvertNchwToNhwcTest, AnUnknownBatchIsNoHindrance) {
  PassBench bench(test::model_of("g (float[N, 2, 5, 6] x) => (float[N, 2, 5, 6] y) { y = Abs (x) }"));
  EXPECT_TRUE(bench.run(convert_nchw_to_nhwc));
  EXPECT_EQ(dims_of(bench, "x"), "N 5 6 2");
  EXPECT_EQ(dims_of(bench, "y_transpose"), "N 5 6 2");
}

TEST(ConvertNchwToNhwcTest, WarnsWhereChannelsAreMany) {
  PassBench bench("g (float[1, 8, 8, 8] x) => (float[1, 8, 8, 8] y) { y = Abs (x) }");
  EXPECT_TRUE(bench.run(convert_nchw_to_nhwc));
  EXPECT_EQ(count(bench.diagnostics, "channels-not-first"), 1U);
}

TEST(ConvertNchwToNhwcTest, DropsInitializersFromTheInputs) {
  PassBench bench(test::model_of(R"(g (float[1, 2, 5, 6] x, float[1] b) => (float[1, 2, 5, 6] y) <float[1] b = {2}> {
      y = Add (x, b)
    })",
                                 17, 3));
  ir::GraphEdit edit(bench.model.graph);
  const ir::ValueId stored = bench.value("b");
  if (!bench.graph().value(stored).is_input) edit.add_graph_input(stored);
  edit.mutable_value(stored).is_input = true;
  EXPECT_TRUE(bench.run(convert_nchw_to_nhwc));
  EXPECT_EQ(bench.graph().inputs().size(), 1U);
  EXPECT_EQ(bench.model.ir_version, 4);
}

TEST(ConvertNchwToNhwcTest, AQuantizedOutputGetsItsPairAfterTheTranspose) {
  PassBench bench(R"(g (float[1, 2, 5, 6] x) => (float[1, 2, 5, 6] y)
      <float[2] s = {0.125, 0.25}, int8[2] z = {1, -2}> {
      a = Relu (x)
      q = QuantizeLinear <axis = 1> (a, s, z)
      y = DequantizeLinear <axis = 1> (q, s, z)
    })");
  expect_channels_last(bench);
  EXPECT_EQ(bench.ops(), "Transpose Relu QuantizeLinear DequantizeLinear Transpose QuantizeLinear DequantizeLinear");
  const ir::ValueId output = bench.graph().outputs()[0];
  EXPECT_EQ(bench.graph().value(output).name, "y_transpose");
  const ir::Node* last = bench.graph().producer(output);
  EXPECT_EQ(last->op, "DequantizeLinear");
  EXPECT_EQ(last->int_or("axis", 1), 3);
}

TEST(ConvertNchwToNhwcTest, LeavesTheNodesOfTheReference) {
  const nlohmann::json record = test::golden_op_case("global_avg_pool", "A8W8-nhwc");
  QQ_NEED_RECORD(!record.is_null());
  Result<ir::Model> model = onnx_io::load(test::golden_ops_folder() + "global_avg_pool.onnx");
  ASSERT_TRUE(model.ok());
  PassBench bench(std::move(model).value());
  expect_channels_last(bench);
  EXPECT_EQ(test::float_nodes(bench.graph()), test::recorded_float_nodes(record));
  EXPECT_EQ(bench.graph().value(bench.graph().outputs()[0]).name, record["graph_outputs"][0][0]);
}

TEST(ConvertNchwToNhwcTest, SharedModelsStayValid) {
  const std::vector<std::string> models = test::models_with_stages("A8W8");
  QQ_NEED_RECORD(!models.empty());
  for (const std::string& model : models) {
    SCOPED_TRACE(model);
    PassBench bench(test::shared_model(model));
    const bool was_sound = onnx_io::check_model(bench.model).ok();
    bench.run(convert_nchw_to_nhwc);
    EXPECT_TRUE(!was_sound || onnx_io::check_model(bench.model).ok()) << onnx_io::check_model(bench.model).message();
    test::expect_idle(bench, convert_nchw_to_nhwc);
  }
}

/// An image and a vector.
calib::OneSample one_image() {
  ir::Tensor image = ir::Tensor::zeros(ElementType::kFloat16, {1, 2, 1, 3});
  for (size_t i = 0; i < 6; ++i) image.mutable_data<uint16_t>()[i] = float16_from_float(static_cast<float>(i));
  return calib::OneSample({"one", {image, ir::Tensor::from<float>({2}, {1, 2})}, {"image.npy", "vector.npy"}});
}

TEST(FitSamplesTest, TransposesAndConverts) {
  const calib::OneSample images = one_image();
  const auto fitted = calib::fit_samples(
      images, {{"x", ElementType::kFloat, true, {1, 1, 3, 2}}, {"z", ElementType::kFloat, true, {2}}}, {"x", "z"});
  ASSERT_EQ(fitted->size(), 1U);
  const Result<calib::Sample> sample = fitted->read(0);
  ASSERT_TRUE(sample.ok()) << sample.status().message();
  const ir::Tensor& image = sample.value().inputs[0];
  EXPECT_EQ(image.dims(), (ir::Shape{1, 1, 3, 2}));
  const auto values = image.data<float>();
  EXPECT_EQ(std::vector<float>(values.begin(), values.end()), (std::vector<float>{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(sample.value().inputs[1].dims(), ir::Shape{2});
}

TEST(FitSamplesTest, LeavesOtherInputsAlone) {
  const calib::OneSample images = one_image();
  const auto fitted = calib::fit_samples(
      images, {{"x", ElementType::kFloat16, true, {1, 2, 1, 3}}, {"z", ElementType::kFloat, true, {2}}}, {});
  const Result<calib::Sample> sample = fitted->read(0);
  ASSERT_TRUE(sample.ok());
  EXPECT_EQ(sample.value().inputs[0].dims(), (ir::Shape{1, 2, 1, 3}));
  EXPECT_EQ(sample.value().inputs[0].type(), ElementType::kFloat16);
}

}  // namespace
}  // namespace quarkq::pass_tests

// SPDX-License-Identifier: MIT
// SmoothQuant: factors, wiring, and what it leaves alone.
#include "rewrite/equalize/smooth_quant.h"
#include "onnx_io/load.h"
#include "pipeline/run/pass_runner.h"
#include "support/golden_algorithms.h"
#include "support/golden_ops.h"
#include "support/pass_support.h"
#include "support/shared_records.h"

namespace quarkq::pass_tests {
namespace {

using test::golden_algorithms;
using test::PassBench;

/// Samples of the first input: random ones, or those given.
class Samples : public calib::DataReader {
 public:
  explicit Samples(std::vector<ir::Tensor> tensors) : tensors_(std::move(tensors)) {}
  explicit Samples(const ir::Shape& dims, size_t count = 20) {
    std::mt19937 generator(7);
    std::uniform_real_distribution<float> distribution(-2, 2);
    for (size_t i = 0; i < count; ++i) {
      ir::Tensor tensor = ir::Tensor::zeros(ElementType::kFloat, dims);
      for (float& value : tensor.mutable_data<float>()) value = distribution(generator);
      tensors_.push_back(std::move(tensor));
    }
  }
  size_t size() const override { return tensors_.size(); }
  Result<calib::Sample> read(size_t index) const override {
    return calib::Sample{cat("s", index), {tensors_[index]}, {}};
  }

 private:
  std::vector<ir::Tensor> tensors_;
};

void expect_smoothed(PassBench& bench, const Samples& samples) {
  bench.context.source.data = &samples;
  const ir::Model before = bench.model;
  EXPECT_TRUE(bench.run(smooth_quant));
  test::expect_same_outputs(before, bench.model, 1e-4);
}

std::string golden_body() {
  const nlohmann::json& golden = golden_algorithms()["smoothquant"];
  return cat("g (float[2, 3] x) => (float[2, 2] y) <float[3, 2] w = ", test::text_of(golden["W"]),
             "> { [m] y = MatMul (x, w) }");
}

Samples golden_samples() {
  std::vector<float> row = test::flat(golden_algorithms()["smoothquant"]["act_absmax"]);
  std::vector<float> first = {-row[0], row[1] / 2, 0, 1, 0, 0}, second = {0, 0, 0, 0.5F, -row[1], 0};
  return Samples({ir::Tensor::from<float>({2, 3}, first), ir::Tensor::from<float>({2, 3}, second)});
}

TEST(SmoothQuantTest, FactorsAreTheReferencesInCompatMode) {
  QQ_SKIP_WITHOUT_ALGORITHMS();
  const nlohmann::json& golden = golden_algorithms()["smoothquant"];
  config::Settings settings = test::settings_for("A8W8");
  settings.algorithms.smooth_alpha = golden["alpha"];
  settings.compat = true;
  PassBench bench(test::model_of(golden_body()), settings);
  const Samples samples = golden_samples();
  bench.context.source.data = &samples;
  EXPECT_TRUE(bench.run(smooth_quant));
  test::expect_stored(bench.graph(), "x_m_smooth_scale", golden["mul_constant"]);
  test::expect_stored(bench.graph(), "w", golden["W_new"]);
}

TEST(SmoothQuantTest, DeadChannelsKeepTheirWeightsByDefault) {
  QQ_SKIP_WITHOUT_ALGORITHMS();
  PassBench bench(test::model_of(golden_body()));
  expect_smoothed(bench, golden_samples());  // with samples that do reach the dead channel
  EXPECT_LT(bench.graph().constant(bench.value("x_m_smooth_scale"))->data<float>()[2], 1.1e5f);
}

TEST(SmoothQuantTest, LeavesItsOwnResultAlone) {
  PassBench bench(cat(R"(g (float[2, 3, 4] x) => (float[2, 3, 3] y, float[2, 3, 3] z) <float[4, 3] v = )",
                      test::numbers(12, 1), ", float[4, 3] w = ", test::numbers(12, 2),
                      "> { [left] y = MatMul (x, v) [right] z = MatMul (x, w) }"));
  std::vector<float> row(24);
  for (size_t i = 0; i < row.size(); ++i) row[i] = i % 4 == 2 ? 0 : static_cast<float>(i);  // a dead channel
  const Samples samples({ir::Tensor::from<float>({2, 3, 4}, row)});
  expect_smoothed(bench, samples);
  const std::string once = ir::dump(bench.graph());
  const size_t said = bench.diagnostics.all().size();
  EXPECT_FALSE(bench.run(smooth_quant));
  EXPECT_EQ(ir::dump(bench.graph()), once);
  ASSERT_EQ(bench.diagnostics.all().size(), said + 2);
  EXPECT_EQ(bench.diagnostics.all()[said].subject, "left");
  EXPECT_EQ(bench.diagnostics.all()[said].text, "its input was smoothed before");
}

/// A scale of the network itself is no reason to leave the product alone, nor is one that other nodes read, too.
TEST(SmoothQuantTest, SmoothsAfterOtherProducts) {
  for (const char* body : {"m = Mul (x, k) y = MatMul (m, w)", "m = Mul (x, x) y = MatMul (m, w)",
                           "m = Add (x, k_smooth_scale) y = MatMul (m, w)"}) {
    PassBench bench(cat("g (float[2, 4] x) => (float[2, 3] y) <float[4] k = {1, 2, 3, 4}, ",
                        "float[4] k_smooth_scale = {1, 2, 3, 4}, float[4, 3] w = ", test::numbers(12, 1), "> { ", body,
                        " }"));
    expect_smoothed(bench, Samples({2, 4}));
  }
  PassBench shared(cat("g (float[2, 4] x) => (float[2, 3] y, float[2, 4] n) <float[4] k_smooth_scale = {1, 2, 3, 4}, ",
                       "float[4, 3] w = ", test::numbers(12, 1),
                       "> { m = Mul (x, k_smooth_scale) y = MatMul (m, w) n = Neg (m) }"));
  expect_smoothed(shared, Samples({2, 4}));
}

TEST(SmoothQuantTest, EachMatMulHasItsOwnFactors) {
  PassBench bench(cat(R"(g (float[1, 5, 4] x) => (float[1, 5, 3] y, float[1, 5, 3] z) <float[4, 3] v = )",
                      test::numbers(12, 1), ", float[4, 3] w = ", test::numbers(12, 2), R"(> {
      a = Relu (x)
      [left] y = MatMul (a, v)
      [right] z = MatMul (a, w)
    })"));
  expect_smoothed(bench, Samples({1, 5, 4}));
  EXPECT_EQ(bench.ops(), "Relu MatMul MatMul Mul Mul");
  EXPECT_TRUE(bench.value("a_left_smooth_output").valid());
  EXPECT_TRUE(bench.value("a_right_smooth_output").valid());
}

TEST(SmoothQuantTest, ASharedWeightIsCopiedFirst) {
  PassBench bench(cat(R"(g (float[4, 4] x) => (float[4, 4] y) <float[4, 4] w = )", test::numbers(16, 1), R"(> {
      [one] a = MatMul (x, w)
      [two] b = MatMul (a, w)
      y = Add (b, w)
    })"));
  const ir::Tensor weight = *bench.graph().constant(bench.value("w"));
  expect_smoothed(bench, Samples({4, 4}));
  EXPECT_TRUE(bench.graph().constant(bench.value("w"))->same_as(weight));
}

TEST(SmoothQuantTest, LeavesOtherLayersAlone) {
  PassBench bench(cat(R"(g (float[2, 3, 4] x, float[4, 4] v) => (float[2, 3, 4] y)
      <float[2, 4, 4] cube = )",
                      test::numbers(32, 1), ", float[4] vector = ", test::numbers(4, 2), R"(> {
      a = MatMul (x, cube)
      b = MatMul (a, v)
      c = MatMul (v, vector)
      y = Add (b, c)
    })"));
  test::expect_idle(bench, smooth_quant);  // without samples: none are needed
  ASSERT_EQ(bench.diagnostics.all().size(), 2U);
  EXPECT_EQ(bench.diagnostics.all()[0].id, "smooth-quant-skipped");
}

TEST(SmoothQuantTest, AsksForSamples) {
  PassBench bench(
      cat("g (float[2, 3] x) => (float[2, 2] y) <float[3, 2] w = ", test::numbers(6, 1), "> { y = MatMul (x, w) }"));
  const Result<Changed> changed = pipeline::run_pass(bench.context, smooth_quant);
  ASSERT_FALSE(changed.ok());
  EXPECT_EQ(changed.status().code(), Code::kBadData);
}

TEST(SmoothQuantTest, LeavesTheNodesOfTheReference) {
  const nlohmann::json record = test::golden_op_case("nbits", "A8W8-SmoothQuant");
  QQ_NEED_RECORD(!record.is_null());
  Result<ir::Model> model = onnx_io::load(test::golden_ops_folder() + "nbits.onnx");
  ASSERT_TRUE(model.ok());
  PassBench bench(std::move(model).value());
  calib::DataOptions options;
  options.folder = test::golden_ops_folder() + "inputs/1x6x64";
  const auto reader = calib::open_data(options, calib::input_specs(bench.graph()));
  ASSERT_TRUE(reader.ok()) << reader.status().message();
  bench.context.source.data = reader.value().get();
  const ir::Model before = bench.model;
  EXPECT_TRUE(bench.run(smooth_quant));
  test::expect_same_outputs(before, bench.model, 1e-4);
  EXPECT_EQ(test::float_nodes(bench.graph()), test::recorded_float_nodes(record));
  for (const std::string name : {"x_MatMul_0_smooth_scale", "Relu_1_out_MatMul_2_smooth_scale", "w1", "w2"}) {
    // The scale of an int8 tensor that was quantized symmetrically is its largest magnitude / 127.
    const std::vector<double> values = ir::to_double(*bench.graph().constant(bench.value(name))).value();
    double sum = 0, largest = 0;
    for (const double value : values) largest = std::max(largest, std::abs(value));
    for (const double value : values) sum += std::nearbyint(value / (largest / 127.0));
    EXPECT_NEAR(sum, record["stored"][name + "_quantized"][4].get<double>(), 2) << name;
  }
}

}  // namespace
}  // namespace quarkq::pass_tests

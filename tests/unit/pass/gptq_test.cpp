// SPDX-License-Identifier: MIT
// GPTQ: the solver against recorded numbers (which are those of plain rounding) and against plain rounding, the pass on
// a small model.
#include "pass/gptq/gptq.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "ir/constants.h"
#include "onnx_io/load.h"
#include "pipeline/run/pass_runner.h"
#include "support/golden_algorithms.h"
#include "support/golden_quantized.h"
#include "support/legalize_samples.h"
#include "support/shared_records.h"

namespace quarkq::pass_tests {
namespace {

Dense<float> matrix(const nlohmann::json& rows) {
  Dense<float> dense;
  dense.data = test::flat(rows);
  dense.rows = static_cast<int64_t>(rows.size());
  dense.columns = static_cast<int64_t>(dense.data.size()) / dense.rows;
  return dense;
}

template <typename T>
void expect_near(const Dense<T>& found, const nlohmann::json& expected, double tolerance, const char* what) {
  const std::vector<float> numbers = test::flat(expected);
  ASSERT_EQ(found.data.size(), numbers.size()) << what;
  for (size_t i = 0; i < numbers.size(); ++i)
    EXPECT_NEAR(static_cast<double>(found.data[i]), static_cast<double>(numbers[i]), tolerance) << what << " " << i;
}

struct GptqCase {
  const char* name;
  GptqOptions options;
};

GptqOptions four_bits(void (*change)(GptqOptions&)) {
  GptqOptions options;
  options.bits = 4;
  options.per_channel = true;
  options.symmetric = false;
  change(options);
  return options;
}

const GptqCase kCases[] = {
    {"gptq_default_sym_pertensor_8bit", {}},
    {"gptq_asym_perchannel_4bit", four_bits([](GptqOptions&) {})},
    {"gptq_sym_perchannel_4bit_actorder", four_bits([](GptqOptions& o) { o.symmetric = o.by_importance = true; })},
    {"gptq_asym_perchannel_4bit_mse", four_bits([](GptqOptions& o) { o.search = true; })},
    {"gptq_asym_perchannel_4bit_block2", four_bits([](GptqOptions& o) { o.block_size = 2; })},
    {"gptq_asym_perchannel_4bit_group2", four_bits([](GptqOptions& o) { o.group_size = 2; })}};

TEST(GptqTest, RoundsAsRecordedWithoutPropagation) {
  QQ_SKIP_WITHOUT_ALGORITHMS();
  const nlohmann::json& golden = test::golden_algorithms();
  const Dense<float> weight = matrix(golden["gptq_inputs"]["W_KxN"]);
  const Dense<float> inputs = matrix(golden["gptq_inputs"]["X_MxK"]);
  for (const GptqCase& c : kCases) {
    const nlohmann::json& expected = golden[c.name];
    Hessian hessian(weight.rows);
    hessian.add(inputs.data.data(), inputs.rows, inputs.rows);
    expect_near(hessian.matrix(), expected["H"], 1e-5, c.name);
    GptqOptions options = c.options;
    options.propagate = false;
    const Result<GptqResult> result = gptq(weight, hessian.matrix(), options);
    ASSERT_TRUE(result.ok()) << c.name;
    expect_near(result.value().codes, expected["Q_int"], 0, c.name);
    expect_near(result.value().values, expected["Q"], 1e-5, c.name);
    const Dense<double>&scale = result.value().scale, &zero = result.value().zero;
    for (int64_t column = 0; column < weight.columns; ++column) {
      const auto i = static_cast<size_t>(column);
      EXPECT_NEAR(scale(scale.rows - 1, column), expected["scale"][i].get<double>(), 1e-6) << c.name;
      EXPECT_EQ(zero(zero.rows - 1, column), expected["zero"][i].get<double>()) << c.name;
    }
  }
}

/// Correlated inputs, and how far products with the rounded matrix are off.
struct Layer {
  static constexpr int64_t kRows = 256, kDepth = 64, kColumns = 32;

  Layer() : weight(kDepth, kColumns), inputs(kRows, kDepth), hessian(kDepth) {
    std::mt19937 generator(3);
    std::normal_distribution<float> normal;
    Dense<float> mixing(kDepth, kDepth), raw(kRows, kDepth);
    for (Dense<float>* dense : {&weight, &mixing, &raw}) {
      for (float& value : dense->data) value = normal(generator);
    }
    inputs = product(raw, mixing);
    hessian.add(inputs.data.data(), kRows, kRows);
  }
  static Dense<float> product(const Dense<float>& a, const Dense<float>& b) {
    Dense<float> result(a.rows, b.columns);
    for (int64_t i = 0; i < a.rows; ++i) {
      for (int64_t k = 0; k < a.columns; ++k) {
        for (int64_t j = 0; j < b.columns; ++j) result(i, j) += a(i, k) * b(k, j);
      }
    }
    return result;
  }
  double error(const GptqOptions& options) const {
    Result<GptqResult> result = gptq(weight, hessian.matrix(), options);
    EXPECT_TRUE(result.ok());
    Dense<float> off = result.value().values;
    for (size_t i = 0; i < off.data.size(); ++i) off.data[i] -= weight.data[i];
    double square = 0;
    for (const float value : product(inputs, off).data)
      square += static_cast<double>(value) * static_cast<double>(value);
    return square;
  }
  Dense<float> weight, inputs;
  Hessian hessian;
};

TEST(GptqTest, PropagationBeatsPlainRounding) {
  const Layer layer;
  for (const GptqCase& c : kCases) {
    GptqOptions options = c.options;
    options.group_size = options.group_size > 0 ? 16 : -1;
    options.block_size = 8;
    GptqOptions plain = options;
    plain.propagate = false;
    EXPECT_LT(layer.error(options), 0.75 * layer.error(plain)) << c.name;
  }
}

TEST(GptqTest, BlocksOnlyChangeTheOrderOfSums) {
  const Layer layer;
  GptqOptions options = four_bits([](GptqOptions& o) { o.group_size = 12; });
  options.block_size = 1;
  const double fine = layer.error(options);
  options.block_size = 64;
  EXPECT_NEAR(layer.error(options) / fine, 1.0, 0.1);
}

TEST(GptqTest, InputsThatAreAlwaysZeroTakeNoPart) {
  Dense<float> weight(3, 2);
  weight.data.assign(6, 0.7f);
  Hessian hessian(3);
  const std::vector<float> inputs = {1, 0, 2, 3, 0, 1};
  hessian.add(inputs.data(), 2, 2);
  const Result<GptqResult> result = gptq(weight, hessian.matrix(), {});
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result.value().values(1, 0), 0.0f);
  EXPECT_EQ(result.value().values(1, 1), 0.0f);
}

TEST(GptqTest, RefusesInputsThatAreNoNumbers) {
  Hessian hessian(1);
  const float input = std::nanf("");
  hessian.add(&input, 1, 1);
  EXPECT_FALSE(gptq(Dense<float>(1, 1), hessian.matrix(), {}).ok());
}

/// x * w with w planned to be stored as int8.
struct GptqBench {
  explicit GptqBench(const std::string& preset = "XINT8", int opset = 17)
      : bench(test::model_of(cat("g (float[5, 8] x) => (float[5, 4] y) <float[8, 4] w = ", test::numbers(32, 3),
                                 "> { y = MatMul (x, w) }"),
                             opset)),
        samples(bench.graph(), 6) {
    bench.context.source.data = &samples;
    plan::QuantPlan& plan = bench.context.plan;
    plan = plan::QuantPlan(bench.graph().value_count());
    plan.dedicated_uses.resize(bench.graph().value_count());
    plan.operators = plan::QdqOperators(test::settings_for(preset), opset);
    plan::QuantSlot& slot = plan.add(bench.value("w"));
    slot.role = plan::Role::kWeight;
    slot.state = plan::SlotState::kCalibrated;
    plan::Stage stage{plan::StageKind::kStored, {}, plan.params.add({{1 / 127.0f, 0}}), {}};
    stage.spec.type = ElementType::kInt8;
    slot.stage = stage;
    std::vector<int8_t> codes;
    for (const float value : bench.graph().constant(bench.value("w"))->data<float>())
      codes.push_back(static_cast<int8_t>(std::lround(value * 127)));
    slot.codes = ir::Tensor::from<int8_t>({8, 4}, codes);
  }
  test::PassBench bench;
  test::RandomSamples samples;
};

TEST(QuantizeWeightsGptqTest, WritesBytesWithAScalePerColumn) {
  for (const char* preset : {"XINT8", "A8W8"}) {  // DQ nodes of ai.onnx and of com.microsoft
    GptqBench gptq(preset);
    const ir::Model original = gptq.bench.model;
    EXPECT_TRUE(gptq.bench.run(quantize_weights_gptq));
    const std::string once = plan::text(gptq.bench.context.plan, gptq.bench.graph());
    const ir::Tensor codes = *gptq.bench.context.plan.slot(gptq.bench.value("w")).codes;
    gptq.bench.run(quantize_weights_gptq);
    EXPECT_TRUE(codes.same_as(*gptq.bench.context.plan.slot(gptq.bench.value("w")).codes));
    gptq.bench.run(write_qdq);
    const auto constant = [&](const char* name) { return gptq.bench.graph().constant(gptq.bench.value(name)); };
    EXPECT_EQ(constant("w_quantized")->type(), ElementType::kUInt8);
    EXPECT_EQ(constant("w_scale")->dims(), (ir::Shape{4}));
    EXPECT_TRUE(constant("w_zero_point")->same_as(ir::Tensor::from<uint8_t>({4}, std::vector<uint8_t>(4, 128))));
    EXPECT_LT(test::output_difference(original, gptq.bench.model, gptq.samples).square, 1e-3);
  }
}

TEST(QuantizeWeightsGptqTest, OneScaleBelowOpset13) {
  GptqBench gptq("XINT8", 12);
  EXPECT_TRUE(gptq.bench.run(quantize_weights_gptq));
  EXPECT_EQ(gptq.bench.context.plan.params[gptq.bench.context.plan.slot(gptq.bench.value("w")).stage.params].size(),
            1u);
}

TEST(QuantizeWeightsGptqTest, WritesTheRecordedCodesInCompatMode) {
  for (const auto& [preset, name, per_channel] :
       {std::tuple("A8W8", "A8W8-UseGPTQ", false), {"S8S8_AAWS", "S8S8_AAWS-UseGPTQ_per_channel", true}}) {
    const nlohmann::json record = test::golden_op_case("nbits", name);
    Result<ir::Model> original = onnx_io::load(test::golden_ops_folder() + "nbits.onnx");
    QQ_NEED_RECORD(!record.is_null() && original.ok());
    Diagnostics ignored;
    ASSERT_TRUE(onnx_io::infer_types(original.value(), ignored).ok());
    config::Settings settings = test::settings_for(preset, {"UseGPTQ=true"});
    settings.compat = true;
    settings.algorithms.gptq_params = {config::Node(config::Node::Map{}).with("PerChannel", config::Node(per_channel))};
    const test::RandomSamples samples(original.value().graph, 2);
    test::PassBench bench(std::move(original).value(), settings);
    bench.context.source.data = &samples;
    std::vector<PassTime> times;
    const Status status = pipeline::run_passes(bench.context, {}, times, {});
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(test::nodes_in_order(bench.graph()), test::recorded_nodes(record));
    for (const char* weight : {"w1_quantized", "w2_quantized"}) {
      const std::vector<double> codes = ir::to_double(*bench.graph().constant(bench.value(weight))).value();
      EXPECT_EQ(*std::max_element(codes.begin(), codes.end()), record["stored"][weight][3].get<double>()) << name;
      EXPECT_EQ(std::accumulate(codes.begin(), codes.end(), 0.0), record["stored"][weight][4].get<double>()) << name;
    }
  }
}

TEST(QuantizeWeightsGptqTest, LeavesOtherModelsAlone) {
  GptqBench no_samples;
  no_samples.bench.context.source.data = nullptr;
  test::expect_idle(no_samples.bench, quantize_weights_gptq);
  EXPECT_EQ(test::diagnostic_ids(no_samples.bench.diagnostics), std::vector<std::string>{"gptq-left-out"});
  GptqBench floats;
  floats.bench.context.plan = plan::QuantPlan(floats.bench.graph().value_count());
  test::expect_idle(floats.bench, quantize_weights_gptq);
}

TEST(QuantizeWeightsGptqTest, NamesAWrongParameter) {
  GptqBench gptq;
  gptq.bench.settings.algorithms.gptq_params = {
      config::Node(config::Node::Map{}).with("BlockSize", config::Node(int64_t{0}))};
  const Result<Changed> changed = pipeline::run_pass(gptq.bench.context, quantize_weights_gptq);
  ASSERT_FALSE(changed.ok());
  EXPECT_NE(changed.status().message().find("BlockSize"), std::string::npos);
}

/// Error of the product: rows of the inputs times the difference of the weights.
double product_error(const Dense<float>& weight, const Dense<float>& rounded, const Dense<float>& inputs) {
  double sum = 0;
  for (int64_t row = 0; row < inputs.rows; ++row) {
    for (int64_t c = 0; c < weight.columns; ++c) {
      double off = 0;
      for (int64_t k = 0; k < weight.rows; ++k)
        off += static_cast<double>(inputs(row, k)) * static_cast<double>(weight(k, c) - rounded(k, c));
      sum += off * off;
    }
  }
  return sum;
}

TEST(GptqTest, StaticGroupsKeepTheirRows) {
  std::mt19937 random(7);
  std::normal_distribution<float> normal;
  Dense<float> weight(32, 6), inputs(200, 32);
  for (float& value : weight.data) value = normal(random);
  for (int64_t row = 0; row < inputs.rows; ++row) {
    const float common = normal(random);  // makes inputs depend on each other
    for (int64_t k = 0; k < 32; ++k) inputs(row, k) = (common + normal(random)) * (1.0f + static_cast<float>(k % 5));
  }
  Hessian hessian(weight.rows);
  hessian.add(inputs.data.data(), inputs.rows, 1);
  GptqOptions options = four_bits([](GptqOptions& o) { o.group_size = 8; });
  options.by_importance = options.has_static_groups = true;
  int64_t fits = 0;
  options.fit = [&](std::span<const float> values, std::span<const float> importance) -> GptqGrid {
    EXPECT_EQ(values.size(), 8u);
    EXPECT_EQ(importance.size(), 8u);
    ++fits;
    const auto [low, high] = std::minmax_element(values.begin(), values.end());
    const double scale = static_cast<double>(*high - *low) / 15;
    return {scale, std::rint(static_cast<double>(-*low) / scale)};
  };
  const GptqResult found = gptq(weight, hessian.matrix(), options).value();
  EXPECT_EQ(fits, 4 * 6) << "each group of each column once";
  for (int64_t k = 0; k < 32; ++k) {
    for (int64_t c = 0; c < 6; ++c) {
      const double stored = (found.codes(k, c) - found.zero(k / 8, c)) * found.scale(k / 8, c);
      EXPECT_NEAR(static_cast<double>(found.values(k, c)), stored, 1e-5) << k << " " << c;
    }
  }
  options.propagate = false;
  const GptqResult plain = gptq(weight, hessian.matrix(), options).value();
  EXPECT_LT(product_error(weight, found.values, inputs), 0.7 * product_error(weight, plain.values, inputs));
}

TEST(GptqTest, MomentsAreMeanSquaresOfTheInputs) {
  const ir::Model model =
      test::model_of(cat("g (float[6, 4] x) => (float[6, 2] y, float[6, 2] z) <float[4, 2] w = ", test::numbers(8, 3),
                         "> { r = Relu (x) y = MatMul (x, w) z = MatMul (r, w) }"));
  const test::RandomSamples samples(model.graph, 3);
  const auto all = [](const ir::Node&) { return true; };
  const exec::Environment environment;
  const std::vector<GptqTarget> targets = gptq_targets(model.graph, all);
  ASSERT_EQ(targets.size(), 1u);
  const GptqSamples read{samples, environment, samples.size()};
  const std::vector<float> found = input_moments(read, model, targets).value()[0];
  std::vector<double> wanted(4);
  for (size_t s = 0; s < samples.size(); ++s) {
    const std::vector<float> x = ir::float_values(samples.read(s).value().inputs[0]).value();
    for (size_t i = 0; i < x.size(); ++i) {
      const auto value = static_cast<double>(x[i]);
      wanted[i % 4] += value * value * (value > 0 ? 2 : 1) / (2 * 6 * 3);
    }
  }
  for (size_t k = 0; k < 4; ++k) EXPECT_NEAR(static_cast<double>(found[k]), wanted[k], 1e-5) << k;
}

}  // namespace
}  // namespace quarkq::pass_tests

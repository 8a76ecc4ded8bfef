// SPDX-License-Identifier: MIT
// MatMulNBits: blocks against worked and recorded numbers, the pass against the recorded models.

#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "onnx_io/load.h"
#include "qdq/write/nbits_blocks.h"
#include "qdq/write/nbits_learned.h"
#include "support/golden_algorithms.h"
#include "support/golden_quantized.h"
#include "support/legalize_samples.h"
#include "support/shared_records.h"

namespace quarkq::pass_tests {
namespace {

using test::PassBench;

TEST(NBitsBlocksTest, RoundsTheWorkedExample) {
  const std::vector<float> weight = {8,    -8,    .5f,  1.5f, -.5f, -1.5f, 2.5f,  -2.5f,
                                     7.5f, -7.5f, 3.5f, 4.5f, 5.5f, 6.5f,  -3.5f, 0};
  const NBitsWeight result = round_blocks(weight, {16, 1, 16}, true);
  EXPECT_EQ(result.codes, (std::vector<uint8_t>{15, 0, 9, 10, 8, 7, 11, 6, 15, 1, 12, 13, 14, 15, 5, 8}));
  EXPECT_EQ(result.scales, std::vector<float>{1.0f});
}

TEST(NBitsBlocksTest, TakesBlocksOfZeros) {
  const std::vector<float> zeros(16, 0.0f);
  EXPECT_EQ(round_blocks(zeros, {16, 1, 16}, true).codes, std::vector<uint8_t>(16, 8));
  const NBitsWeight asymmetric = round_blocks(zeros, {16, 1, 16}, false);
  EXPECT_EQ(asymmetric.codes, std::vector<uint8_t>(16, 0));
  EXPECT_EQ(asymmetric.zeros, std::vector<float>{0.0f});
  for (const float scale : hqq_blocks(zeros, {16, 1, 16}).scales) EXPECT_TRUE(std::isfinite(scale));
}

TEST(NBitsBlocksTest, TakesBlocksWhoseStepIsTooSmallForAFloat) {
  for (const float value : {1e-45f, -1e-45f, 1e-44f, -1e-38f}) {
    std::vector<float> weight(16, 0.0f);
    weight[3] = value;
    const NBitsWeight results[] = {round_blocks(weight, {16, 1, 16}, true), round_blocks(weight, {16, 1, 16}, false),
                                   hqq_blocks(weight, {16, 1, 16}),         k_quant_blocks(weight, {16, 1, 16}, {}),
                                   round_again(weight, {16, 1, 16}, true),  round_again(weight, {16, 1, 16}, false)};
    for (const NBitsWeight& result : results) {
      for (size_t i = 0; i < weight.size(); ++i) {
        const float stored = (static_cast<float>(result.codes[i]) - result.zeros[0]) * result.scales[0];
        EXPECT_NEAR(stored, weight[i], std::numeric_limits<float>::min())
            << value << " at " << i << " by method " << &result - results;
      }
    }
  }
}

TEST(NBitsBlocksTest, SubnormalStepsKeepTheWeights) {
  const NBitsShape shape{16, 1, 16};
  std::vector<float> gram(256, 0.0f);
  for (size_t i = 0; i < 16; ++i) gram[i * 17] = 1.0f;
  for (const float unit : {1e-39f, 3e-39f, 1e-38f}) {
    std::vector<float> weight(16);
    for (size_t i = 0; i < 16; ++i) weight[i] = unit * (static_cast<float>(i) - 8);
    for (const bool is_symmetric : {true, false}) {
      const NBitsWeight results[] = {
          round_blocks(weight, shape, is_symmetric), k_quant_blocks(weight, shape, {is_symmetric, {}}),
          round_again(weight, shape, is_symmetric), autoround_blocks(weight, shape, {is_symmetric, 20, gram})};
      for (const NBitsWeight& result : results) {
        EXPECT_GE(std::abs(result.scales[0]), std::numeric_limits<float>::min());
        for (size_t i = 0; i < 16; ++i) {
          const float stored = (static_cast<float>(result.codes[i]) - result.zeros[0]) * result.scales[0];
          EXPECT_NEAR(stored, weight[i], std::max(0.75f * std::numeric_limits<float>::min(), 1.1f * unit))
              << unit << " at " << i << " by method " << &result - results;
        }
      }
      const PackedNBits packed = round_packed_blocks(weight, shape, is_symmetric);
      EXPECT_EQ(packed.scales[0], results[0].scales[0]);
      EXPECT_EQ(packed.codes[0] & 15, results[0].codes[0]);
    }
  }
}

/// Squared errors, weighted as k_quant_blocks() does.
double weighted_error(const std::vector<float>& weight, const NBitsWeight& found, size_t block) {
  double error = 0;
  for (size_t begin = 0; begin < weight.size(); begin += block) {
    double squares = 0;
    for (size_t i = begin; i < begin + block; ++i) squares += std::pow(weight[i], 2);
    for (size_t i = begin; i < begin + block; ++i) {
      const float stored =
          (static_cast<float>(found.codes[i]) - found.zeros[begin / block]) * found.scales[begin / block];
      const double importance = std::abs(weight[i]) + std::sqrt(squares / static_cast<double>(block));
      error += importance * std::pow(stored - weight[i], 2);
    }
  }
  return error;
}

TEST(NBitsBlocksTest, KQuantLeavesLessError) {
  std::mt19937 random(7);
  std::normal_distribution<float> normal(0.02f, 0.3f);
  for (const int64_t block : {16, 128}) {
    std::vector<float> weight(4096);
    for (float& value : weight) value = normal(random);
    const NBitsShape shape{4096, 1, block};
    const auto size = static_cast<size_t>(block);
    const double ranges = weighted_error(weight, round_blocks(weight, shape, false), size);
    EXPECT_LT(weighted_error(weight, k_quant_blocks(weight, shape, {}), size), (block == 16 ? 0.85 : 0.95) * ranges)
        << block;
  }
}

TEST(NBitsBlocksTest, KQuantKeepsBlocksOfOneSign) {
  for (const float sign : {1.0f, -1.0f}) {
    std::vector<float> weight;
    weight.reserve(48);
    for (int i = 0; i < 48; ++i)
      weight.push_back(sign * (i < 16 ? 1.0f + 0.1f * static_cast<float>(i) : i < 32 ? 3.0f : 0.0f));
    const NBitsWeight result = k_quant_blocks(std::span(weight).first(40), {40, 1, 16}, {});
    for (size_t i = 0; i < 40; ++i) {
      const size_t block = i / 16;
      const float found = (static_cast<float>(result.codes[i]) - result.zeros[block]) * result.scales[block];
      EXPECT_NEAR(found, weight[i], block == 0 ? 0.1f : 1e-6f) << i;
    }
  }
}

TEST(NBitsBlocksTest, HqqGivesTheRecordedCodes) {
  QQ_SKIP_WITHOUT_ALGORITHMS();
  const nlohmann::json& golden = test::golden_algorithms()["hqq_axis1_group16"];
  const std::vector<float> rows = test::flat(golden["W_NxK"]);
  const auto columns = static_cast<int64_t>(golden["W_NxK"].size()),
             depth = static_cast<int64_t>(rows.size()) / columns;
  std::vector<float> weight(rows.size());
  for (int64_t k = 0; k < depth; ++k) {
    for (int64_t n = 0; n < columns; ++n)
      weight[static_cast<size_t>(k * columns + n)] = rows[static_cast<size_t>(n * depth + k)];
  }
  const NBitsWeight result = hqq_blocks(weight, {depth, columns, 16});
  const std::vector<float> codes = test::flat(golden["w_q"]), scales = test::flat(golden["scale"]),
                           zeros = test::flat(golden["zero"]);
  ASSERT_EQ(result.codes.size(), codes.size());
  for (size_t i = 0; i < codes.size(); ++i) EXPECT_EQ(static_cast<float>(result.codes[i]), codes[i]) << i;
  for (size_t i = 0; i < scales.size(); ++i) {
    EXPECT_NEAR(result.scales[i], scales[i], 1e-6f);
    EXPECT_NEAR(result.zeros[i], zeros[i], 1e-4f);
  }
}

TEST(NBitsBlocksTest, PacksTheFirstCodeLow) {
  const std::vector<uint8_t> codes = {1, 2, 3, 4, 5, 6};
  EXPECT_EQ(pack_rows(codes, 6, 4, 0), (std::vector<uint8_t>{0x21, 0x43, 0x65}));
  EXPECT_EQ(pack_rows(codes, 3, 4, 8), (std::vector<uint8_t>{0x21, 0x83, 0x54, 0x86}));
}

/// Params of a record, as a setting.
config::MapValue map_of(const nlohmann::json& params) {
  config::Node node{config::Node::Map{}};
  for (const auto& [key, value] : params.items()) {
    const config::Node entry = value.is_boolean()  ? config::Node(value.get<bool>())
                               : value.is_string() ? config::Node(value.get<std::string>())
                                                   : config::Node(value.get<int64_t>());
    node = node.with(key, entry);
  }
  return {node};
}

struct NBitsCase {
  const char *model, *name, *inputs;
};

class NBitsGoldenTest : public testing::TestWithParam<NBitsCase> {};

/// [min, max, sum] or the values themselves, of an initializer.
void expect_recorded_blocks(const ir::Tensor& found, const nlohmann::json& expected, const std::string& name) {
  EXPECT_EQ(cat(quarkq::name(found.type())), expected[0].get<std::string>()) << name;
  EXPECT_EQ(found.dims(), expected[1].get<ir::Shape>()) << name;
  const std::vector<double> values = ir::to_double(found).value();
  const bool is_bytes = found.type() == ElementType::kUInt8;
  const double tolerance = is_bytes ? 0 : 1e-4;
  if (expected[2].is_array()) {
    for (size_t i = 0; i < values.size(); ++i) EXPECT_NEAR(values[i], expected[2][i].get<double>(), tolerance) << name;
    return;
  }
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  EXPECT_NEAR(*low, expected[2].get<double>(), tolerance) << name;
  EXPECT_NEAR(*high, expected[3].get<double>(), tolerance) << name;
  const double sum = std::accumulate(values.begin(), values.end(), 0.0);
  EXPECT_NEAR(sum, expected[4].get<double>(), is_bytes ? 0 : 1e-3) << name;
}

TEST_P(NBitsGoldenTest, MakesTheRecordedModelInCompatMode) {
  const NBitsCase& c = GetParam();
  const nlohmann::json record = test::golden_op_case(c.model, c.name);
  Result<ir::Model> model = onnx_io::load(test::golden_ops_folder() + c.model + ".onnx");
  QQ_NEED_RECORD(!record.is_null() && model.ok());
  config::Settings settings;
  settings.compat = true;
  if (record.contains("extra_options"))
    settings.matmul_nbits.matmul_nbits_params = map_of(record["extra_options"]["MatMulNBitsParams"]);
  calib::DataOptions options;
  options.folder = test::golden_ops_folder() + "inputs/" + c.inputs;
  const auto reader = calib::open_data(options, calib::input_specs(model.value().graph));
  ASSERT_TRUE(reader.ok()) << reader.status().message();
  PassBench bench(std::move(model).value(), settings);
  bench.context.source.data = reader.value().get();
  EXPECT_TRUE(bench.run(quantize_matmul_nbits));
  EXPECT_EQ(test::nodes_in_order(bench.graph()), test::recorded_nodes(record));
  if (record.contains("stored")) {
    for (const auto& [name, stored] : record["stored"].items())
      expect_recorded_blocks(*bench.graph().constant(bench.value(name)), stored, name);
  }
  EXPECT_FALSE(bench.run(quantize_matmul_nbits));
}

INSTANTIATE_TEST_SUITE_P(Cases, NBitsGoldenTest,
                         testing::Values(NBitsCase{"nbits", "MATMUL_NBITS-default", "1x6x64"},
                                         NBitsCase{"nbits", "MATMUL_NBITS-preset", "1x6x64"},
                                         NBitsCase{"nbits", "MATMUL_NBITS-asymmetric", "1x6x64"},
                                         NBitsCase{"nbits", "MATMUL_NBITS-hqq", "1x6x64"},
                                         NBitsCase{"nbits", "MATMUL_NBITS-gptq", "1x6x64"},
                                         NBitsCase{"nbits", "MATMUL_NBITS-exclude", "1x6x64"},
                                         NBitsCase{"opt_block", "MATMUL_NBITS-default", "1x16x8"},
                                         NBitsCase{"opt_block", "MATMUL_NBITS-preset", "1x16x8"},
                                         NBitsCase{"opt_block", "MATMUL_NBITS-asymmetric", "1x16x8"},
                                         NBitsCase{"opt_block", "MATMUL_NBITS-hqq", "1x16x8"},
                                         NBitsCase{"opt_block", "MATMUL_NBITS-gptq", "1x16x8"}),
                         [](const auto& info) {
                           std::string name = cat(info.param.model, "_", info.param.name);
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

struct NBitsBench {
  explicit NBitsBench(const nlohmann::json& params)
      : original(test::model_of(cat("g (float[6, 40] x) => (float[6, 4] y) <float[40, 4] w = ", test::numbers(160, 3),
                                    "> { y = MatMul (x, w) }"))),
        bench(original, with(params)),
        samples(original.graph, 6) {
    bench.context.source.data = &samples;
  }
  static config::Settings with(const nlohmann::json& params) {
    config::Settings settings;
    settings.matmul_nbits.matmul_nbits_params = map_of(params);
    return settings;
  }
  const ir::Tensor& stored_scales() { return *bench.graph().constant(bench.node("MatMulNBits").input(2)); }
  double error() { return test::output_difference(original, bench.model, samples).square; }
  ir::Model original;
  PassBench bench;
  test::RandomSamples samples;
};

TEST(QuantizeMatMulNBitsTest, StaysCloseWithEachAlgorithm) {
  for (const char* algorithm : {"DEFAULT", "HQQ", "GPTQ"}) {
    const nlohmann::json params = {{"Algorithm", algorithm}, {"GroupSize", 16}};
    NBitsBench nbits(params);
    EXPECT_TRUE(nbits.bench.run(quantize_matmul_nbits)) << algorithm;
    EXPECT_EQ(nbits.bench.ops(), "MatMulNBits");
    const double error = nbits.error();
    EXPECT_LT(error, 0.2) << algorithm;
    EXPECT_GT(error, 0) << algorithm;
    EXPECT_FALSE(nbits.bench.run(quantize_matmul_nbits));
  }
}

TEST(QuantizeMatMulNBitsTest, RefusesWeightsWithoutFiniteScales) {
  for (const char* algorithm : {"DEFAULT", "HQQ", "GPTQ", "K_QUANT"}) {
    for (const bool symmetric : {true, false}) {
      for (const float value :
           {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(), 3e38f}) {
        NBitsBench nbits({{"Algorithm", algorithm}, {"GroupSize", 16}, {"Symmetric", symmetric}});
        std::vector<float> weight(160, 0.5f);
        weight[37] = value;
        weight[41] = -value;
        ir::GraphEdit(nbits.bench.model.graph)
            .set_constant(nbits.bench.value("w"), ir::Tensor::from<float>({40, 4}, weight));
        const Result<Changed> changed = pipeline::run_pass(nbits.bench.context, quantize_matmul_nbits);
        if (changed.ok()) {  // some of the largest are taken
          for (const double scale : ir::to_double(nbits.stored_scales()).value())
            EXPECT_TRUE(std::isfinite(scale)) << algorithm << " " << symmetric << " " << value;
          EXPECT_TRUE(std::isfinite(value)) << algorithm << " " << symmetric;
        } else {
          EXPECT_EQ(changed.status().code(), Code::kBadData) << algorithm << " " << value;
          EXPECT_NE(changed.status().message().find("'w'"), std::string::npos) << changed.status().message();
        }
      }
    }
  }
}

TEST(QuantizeMatMulNBitsTest, LeavesExcludedAndComputedMatricesAlone) {
  const nlohmann::json groups = {{"GroupSize", 16}};
  NBitsBench excluded(groups);
  ir::GraphEdit edit(excluded.bench.model.graph);
  for (const ir::NodeId id : excluded.bench.graph().order()) edit.node(id).origins = {id};
  excluded.bench.context.selection.excluded = plan::NodeMarks(excluded.bench.graph(), false);
  excluded.bench.context.selection.excluded.add(excluded.bench.node("MatMul"));
  test::expect_idle(excluded.bench, quantize_matmul_nbits);
  PassBench computed("g (float[2, 2] x) => (float[2, 2] y) { y = MatMul (x, x) }");
  test::expect_idle(computed, quantize_matmul_nbits);
}

/// One Gemm of [6, 40] with a stored matrix.
ir::Model gemm_model(const std::string& attributes, const std::string& matrix, const std::string& inputs) {
  return test::model_of(cat("g (float[6, 40] x) => (float[6, 4] y) <float[", matrix, "] w = ", test::numbers(160, 3),
                            ", float[4] b = {1, 2, 3, 4}> { y = Gemm ", attributes, " (", inputs, ") }"));
}

TEST(QuantizeMatMulNBitsTest, TakesTheMatricesOfGemm) {
  struct Case {
    const char *attributes, *matrix, *inputs, *ops;
  };
  const Case cases[] = {{"<transB = 1>", "4, 40", "x, w, b", "MatMulNBits Add"},
                        {"", "40, 4", "x, w, b", "MatMulNBits Add"},
                        {"<transB = 1>", "4, 40", "x, w", "MatMulNBits"}};
  for (const Case& one : cases) {
    for (const char* algorithm : {"DEFAULT", "GPTQ"}) {
      const nlohmann::json params = {{"Algorithm", algorithm}, {"GroupSize", 16}};
      const ir::Model original = gemm_model(one.attributes, one.matrix, one.inputs);
      PassBench bench(original, NBitsBench::with(params));
      const test::RandomSamples samples(original.graph, 6);
      bench.context.source.data = &samples;
      EXPECT_TRUE(bench.run(quantize_matmul_nbits)) << one.matrix;
      EXPECT_EQ(bench.ops(), one.ops);
      EXPECT_LT(test::output_difference(original, bench.model, samples).square, 0.2);
      EXPECT_FALSE(bench.run(quantize_matmul_nbits));
    }
  }
}

TEST(QuantizeMatMulNBitsTest, LeavesOtherGemmsAlone) {
  const nlohmann::json groups = {{"GroupSize", 16}};
  for (const char* attributes : {"<alpha = 0.5>", "<beta = 2.0>"}) {
    PassBench scaled(gemm_model(attributes, "40, 4", "x, w, b"), NBitsBench::with(groups));
    test::expect_idle(scaled, quantize_matmul_nbits);
  }
  config::Settings settings = NBitsBench::with(groups);
  settings.compat = true;
  PassBench compat(gemm_model("", "40, 4", "x, w, b"), settings);
  test::expect_idle(compat, quantize_matmul_nbits);
  PassBench excluded(gemm_model("", "40, 4", "x, w, b"), NBitsBench::with(groups));
  ir::GraphEdit edit(excluded.model.graph);
  for (const ir::NodeId id : excluded.graph().order()) edit.node(id).origins = {id};
  excluded.context.selection.excluded = plan::NodeMarks(excluded.graph(), false);
  excluded.context.selection.excluded.add(excluded.node("Gemm"));
  test::expect_idle(excluded, quantize_matmul_nbits);
}

TEST(QuantizeMatMulNBitsTest, NamesWhatItCannotTake) {
  const nlohmann::json wrong[] = {{{"Bits", 5}},          {{"GroupSize", 20}},    {{"HeadBits", 1}},
                                  {{"EmbeddingBits", 2}}, {{"Algorithm", "RTN"}}, {{"Groups", 16}}};
  for (const nlohmann::json& params : wrong) {
    NBitsBench nbits(params);
    const Result<Changed> changed = pipeline::run_pass(nbits.bench.context, quantize_matmul_nbits);
    ASSERT_FALSE(changed.ok());
    EXPECT_NE(changed.status().message().find(params.begin().key()), std::string::npos) << changed.status().message();
  }
  const nlohmann::json gptq = {{"Algorithm", "GPTQ"}};
  NBitsBench no_samples(gptq);
  no_samples.bench.context.source.data = nullptr;
  EXPECT_FALSE(pipeline::run_pass(no_samples.bench.context, quantize_matmul_nbits).ok());
}

}  // namespace
}  // namespace quarkq::pass_tests

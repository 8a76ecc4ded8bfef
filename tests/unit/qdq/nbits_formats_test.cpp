// SPDX-License-Identifier: MIT
// Matrices in 2, 3, 4 and 8 bits: stored bits against the definition, both forms, the formats of head and tables.
#include <cmath>
#include <fstream>
#include <random>

#include "config/load.h"
#include "qdq/write/nbits_blocks.h"
#include "qdq/write/nbits_choice.h"
#include "support/legalize_samples.h"

namespace quarkq::pass_tests {
namespace {

using qdq::NBitsShape;
using test::PassBench;

std::vector<float> drawn(int64_t count, unsigned seed = 5) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0.0f, 0.3f);
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values) value = normal(random);
  return values;
}

/// Code `i` of packed bytes, by the definition of the format: the first code in the lowest bits.
int code_at(const std::vector<uint8_t>& bytes, size_t i, int bits) {
  const size_t first = i * static_cast<size_t>(bits);
  return bytes[first / 8] >> (first % 8) & ((1 << bits) - 1);
}

TEST(NBitsFormatsTest, StoredCodesAreTheNearestOnes) {
  for (const int bits : {2, 3, 4, 8}) {
    for (const bool is_symmetric : {true, false}) {
      const NBitsShape shape{70, 3, 32, bits};
      const std::vector<float> weight = drawn(shape.depth * shape.columns);
      const qdq::PackedNBits made = qdq::round_packed_blocks(weight, shape, is_symmetric);
      ASSERT_EQ(made.codes.size(), static_cast<size_t>(9 * shape.block_bytes()));
      for (int64_t c = 0; c < shape.columns; ++c) {
        for (int64_t k = 0; k < shape.depth; ++k) {
          const auto block = static_cast<size_t>(c * 3 + k / 32);
          const int code = code_at(made.codes, static_cast<size_t>(c * 96 + k), shape.stored_bits());
          const float stored = (static_cast<float>(code) - made.zeros[block]) * made.scales[block];
          const float value = weight[static_cast<size_t>(k * 3 + c)];
          // The largest code of symmetric blocks is one step short of the range.
          const float most = (is_symmetric ? 1.0f : 0.5f) * std::abs(made.scales[block]) * 1.001f;
          EXPECT_LE(std::abs(stored - value), most) << bits << " bits, row " << k << ", column " << c;
        }
      }
    }
  }
}

TEST(NBitsFormatsTest, ThreeBitsUseTheMiddleOfFour) {
  const NBitsShape shape{16, 1, 16, 3};
  std::vector<float> weight(16, 0.0f);
  weight[0] = -4.0f;
  weight[1] = 3.0f;
  const qdq::PackedNBits made = qdq::round_packed_blocks(weight, shape, /*symmetric=*/true);
  EXPECT_EQ(made.scales[0], 1.0f);
  EXPECT_EQ(made.zeros[0], 8.0f);
  EXPECT_EQ(code_at(made.codes, 0, 4), 4);
  EXPECT_EQ(code_at(made.codes, 1, 4), 11);
  EXPECT_EQ(code_at(made.codes, 2, 4), 8);
}

TEST(NBitsFormatsTest, PacksRowsOfEveryWidth) {
  const std::vector<uint8_t> codes = {1, 2, 3, 0, 1};
  EXPECT_EQ(qdq::pack_rows(codes, 5, 2, 2), (std::vector<uint8_t>{0x39, 0xa9}));
  EXPECT_EQ(qdq::pack_rows(codes, 5, 8, 2), codes);
}

double error_by_rows(const std::vector<float>& weight, const NBitsShape& shape, const qdq::NBitsWeight& made,
                     const std::vector<float>& importance) {
  double sum = 0;
  for (int64_t c = 0; c < shape.columns; ++c) {
    for (int64_t k = 0; k < shape.depth; ++k) {
      const auto block = static_cast<size_t>(c * shape.blocks() + k / shape.block);
      const auto code = static_cast<float>(made.codes[static_cast<size_t>(c * shape.blocks() * shape.block + k)]);
      const double off = static_cast<double>((code - made.zeros[block]) * made.scales[block] -
                                             weight[static_cast<size_t>(k * shape.columns + c)]);
      sum += off * off * static_cast<double>(importance[static_cast<size_t>(k)]);
    }
  }
  return sum;
}

TEST(NBitsFormatsTest, ImportanceMovesTheErrorToRowsThatMatterLess) {
  std::vector<float> importance(128, 1.0f);
  for (size_t k = 0; k < importance.size(); k += 4) importance[k] = 50.0f;
  for (const int bits : {2, 3, 4}) {
    for (const bool is_symmetric : {true, false}) {
      const NBitsShape shape{128, 32, 64, bits};
      const std::vector<float> weight = drawn(int64_t{128} * 32, 9);
      const double with =
          error_by_rows(weight, shape, qdq::k_quant_blocks(weight, shape, {is_symmetric, importance}), importance);
      const double without =
          error_by_rows(weight, shape, qdq::k_quant_blocks(weight, shape, {is_symmetric, {}}), importance);
      const double plain = error_by_rows(weight, shape, qdq::round_blocks(weight, shape, is_symmetric), importance);
      EXPECT_LT(with, without) << bits << is_symmetric;
      EXPECT_LT(with, 0.9 * plain) << bits << is_symmetric;
    }
  }
}

TEST(NBitsFormatsTest, RealZeroPointsAreRounded) {
  const NBitsShape shape{64, 2, 32, 8};
  const std::vector<float> weight = drawn(128);
  qdq::NBitsWeight made = qdq::hqq_blocks(weight, shape);
  qdq::round_zero_points(weight, shape, made);
  for (const float zero : made.zeros) EXPECT_EQ(zero, std::floor(zero));
  EXPECT_LT(error_by_rows(weight, shape, made, std::vector<float>(64, 1.0f)), 1e-3);
}

TEST(NBitsFormatsTest, RangesWithoutZeroKeepTheirValues) {
  for (const int bits : {4, 8}) {
    const NBitsShape shape{64, 2, 32, bits};
    std::vector<float> weight = drawn(128);
    for (float& value : weight) value = 0.5f + 0.1f * value;
    qdq::NBitsWeight made = qdq::hqq_blocks(weight, shape);
    qdq::round_zero_points(weight, shape, made);
    const double plain =
        error_by_rows(weight, shape, qdq::round_blocks(weight, shape, false), std::vector<float>(64, 1.0f));
    EXPECT_LE(error_by_rows(weight, shape, made, std::vector<float>(64, 1.0f)), plain) << bits;
  }
}

config::Settings settings_of(const std::string& params, const std::string& form = "") {
  config::Settings settings;
  settings.matmul_nbits.matmul_nbits_params.node = config::parse_text(params, "params").value();
  if (!form.empty()) settings.tool.nbits_form = form;
  return settings;
}

ir::Model two_layers() {
  return test::model_of(cat("g (float[6, 64] x) => (float[6, 8] y) <float[64, 32] w = ", test::numbers(2048, 3),
                            ", float[32, 8] v = ", test::numbers(256, 4),
                            "> { h = MatMul (x, w) r = Relu (h) y = MatMul (r, v) }"));
}

TEST(NBitsFormatsTest, EveryAlgorithmWritesEveryWidthInBothForms) {
  for (const char* algorithm : {"DEFAULT", "HQQ", "GPTQ", "K_QUANT", "AWQ", "AUTOROUND"}) {
    double last = 1e9;
    for (const int bits : {2, 4, 8}) {
      for (const char* form : {"", "qdq"}) {
        if (bits == 2 && *form != 0) continue;
        const ir::Model original = two_layers();
        PassBench bench(
            original,
            settings_of(cat("{Algorithm: ", algorithm, ", Bits: ", bits, ", GroupSize: 16, Symmetric: false}"), form));
        const test::RandomSamples samples(original.graph, 6);
        bench.context.source.data = &samples;
        EXPECT_TRUE(bench.run(qdq::quantize_matmul_nbits)) << algorithm << bits << form;
        EXPECT_EQ(bench.ops(),
                  *form == 0 ? "MatMulNBits Relu MatMulNBits" : "DequantizeLinear MatMul Relu DequantizeLinear MatMul");
        const double error = test::output_difference(original, bench.model, samples).square;
        EXPECT_LT(error, last) << algorithm << bits << form;
        if (*form != 0 || bits == 2) last = error * 1.0001;
      }
    }
  }
}

TEST(NBitsFormatsTest, TheHeadHasItsOwnFormat) {
  PassBench bench(two_layers(), settings_of("{Bits: 4, GroupSize: 32, HeadBits: 8, HeadGroupSize: 16}"));
  EXPECT_TRUE(bench.run(qdq::quantize_matmul_nbits));
  const ir::Graph& graph = bench.graph();
  std::vector<std::pair<int64_t, int64_t>> formats;
  for (const ir::NodeId id : graph.order()) {
    const ir::Node& node = graph.node(id);
    if (node.op == "MatMulNBits") formats.emplace_back(node.int_or("bits", 0), node.int_or("block_size", 0));
  }
  EXPECT_EQ(formats, (std::vector<std::pair<int64_t, int64_t>>{{4, 32}, {8, 16}}));
}

/// A table [80, 64] and its transpose as the last matrix.
ir::Model tied_model() {
  std::string table, turned;
  const std::vector<float> values = drawn(int64_t{80} * 64, 2);
  for (size_t i = 0; i < values.size(); ++i) table += cat(i == 0 ? "{" : ", ", values[i]);
  for (size_t k = 0; k < 64; ++k) {
    for (size_t row = 0; row < 80; ++row) turned += cat(k + row == 0 ? "{" : ", ", values[row * 64 + k]);
  }
  return test::model_of(cat("g (int64[5] i) => (float[5, 80] y) <float[80, 64] t = ", table, "}, float[64, 80] w = ",
                            turned, "}> { e = Gather (t, i) r = Relu (e) y = MatMul (r, w) }"));
}

TEST(NBitsFormatsTest, TiedWeightsAreStoredOnce) {
  for (const char* algorithm : {"DEFAULT", "HQQ", "K_QUANT"}) {
    for (const int bits : {2, 4, 8}) {
      const ir::Model original = tied_model();
      PassBench bench(original, settings_of(cat("{Algorithm: ", algorithm, ", HeadBits: ", bits,
                                                ", GroupSize: 32, EmbeddingBits: 8, Symmetric: false}")));
      EXPECT_TRUE(bench.run(qdq::quantize_matmul_nbits));
      EXPECT_EQ(bench.ops(), "Reshape GatherBlockQuantized Relu MatMulNBits");
      const ir::Graph& graph = bench.graph();
      const ir::Node& lookup = bench.node("GatherBlockQuantized");
      const ir::Node& product = bench.node("MatMulNBits");
      EXPECT_EQ(graph.producer(lookup.input(0))->input(0), product.input(1));
      EXPECT_EQ(lookup.input(2), product.input(2));
      EXPECT_EQ(lookup.input(3), product.input(3));
      int64_t bytes = 0;
      for (const ir::ValueId id : graph.initializers())
        bytes += static_cast<int64_t>(graph.value(id).constant->bytes());
      EXPECT_LT(bytes, 80 * 64 * bits / 8 + 80 * 2 * 5 + 32);
    }
  }
}

TEST(NBitsFormatsTest, OtherTablesAreStoredInFourBits) {
  const ir::Model original = test::model_of(
      cat("g (int64[5] i) => (float[5, 64] y) <float[80, 64] t = ", test::numbers(5120, 3), "> { y = Gather (t, i) }"));
  PassBench bench(original, settings_of("{EmbeddingBits: 4, EmbeddingGroupSize: 16}"));
  EXPECT_TRUE(bench.run(qdq::quantize_matmul_nbits));
  const ir::Node& lookup = bench.node("GatherBlockQuantized");
  EXPECT_EQ(lookup.int_or("bits", 0), 4);
  EXPECT_EQ(lookup.int_or("block_size", 0), 16);
  EXPECT_EQ(bench.graph().constant(lookup.input(0))->dims(), (ir::Shape{80, 32}));
  EXPECT_EQ(bench.graph().constant(lookup.input(2))->dims(), (ir::Shape{80, 4}));
}

TEST(NBitsFormatsTest, AllocationSavesTheMostLossPerByte) {
  const std::vector<std::vector<qdq::FormatCost>> costs = {{{1, 10}, {2, 4}, {4, 0}}, {{1, 3}, {2, 2}, {4, 0}}};
  EXPECT_FALSE(qdq::allocate_formats(costs, 1.5));
  EXPECT_EQ(*qdq::allocate_formats(costs, 2), (std::vector<size_t>{0, 0}));
  EXPECT_EQ(*qdq::allocate_formats(costs, 3), (std::vector<size_t>{1, 0}));
  EXPECT_EQ(*qdq::allocate_formats(costs, 5), (std::vector<size_t>{2, 0}));
  EXPECT_EQ(*qdq::allocate_formats(costs, 8), (std::vector<size_t>{2, 2}));
  // The hull skips formats that are larger and worse, or on the wrong side of a line.
  const std::vector<std::vector<qdq::FormatCost>> bent = {{{1, 10}, {2, 9.5}, {3, 0}, {4, 1}}};
  EXPECT_EQ(*qdq::allocate_formats(bent, 2.5), (std::vector<size_t>{0}));
  EXPECT_EQ(*qdq::allocate_formats(bent, 4), (std::vector<size_t>{2}));
}

TEST(NBitsFormatsTest, ATargetChoosesFormatsAndItsPlanRepeatsThem) {
  const std::string path = testing::TempDir() + "nbits_chosen.yaml";
  config::Settings settings = settings_of("{Symmetric: false}");
  settings.tool.target_bits = 4.6;
  settings.tool.nbits_plan_out = path;
  const ir::Model original = two_layers();
  const test::RandomSamples samples(original.graph, 6);
  PassBench target(original, settings);
  target.context.source.data = &samples;
  EXPECT_TRUE(target.run(qdq::quantize_matmul_nbits));
  const config::NBitsPlan plan = config::load_nbits_plan(path).value();
  ASSERT_EQ(plan.matrices.size(), 2u);
  EXPECT_EQ(plan.matrices[0].name, "w");
  EXPECT_GT(plan.matrices[0].loss, 0);

  settings = settings_of("{Symmetric: false}");
  settings.tool.nbits_plan = path;
  PassBench again(original, settings);
  EXPECT_TRUE(again.run(qdq::quantize_matmul_nbits));
  EXPECT_EQ(again.ops(), target.ops());
  EXPECT_EQ(again.graph().constant(again.node("MatMulNBits").input(1))->dims(),
            target.graph().constant(target.node("MatMulNBits").input(1))->dims());
}

TEST(NBitsFormatsTest, SizesThatCannotBeReachedAreErrors) {
  config::Settings settings = settings_of("{}");
  settings.tool.target_bits = 1.5;
  PassBench bits(two_layers(), settings);
  const Result<Changed> few = pipeline::run_pass(bits.context, qdq::quantize_matmul_nbits);
  ASSERT_FALSE(few.ok());
  EXPECT_NE(few.status().message().find("quarkq.target_bits: found 1.5, the smallest formats need"), std::string::npos)
      << few.status().message();
  settings.tool.target_bits.reset();
  settings.tool.target_size = "100";
  PassBench bytes(two_layers(), settings);
  EXPECT_FALSE(pipeline::run_pass(bytes.context, qdq::quantize_matmul_nbits).ok());
}

TEST(NBitsFormatsTest, PlansNameTheRowThatIsWrong) {
  const auto message = [&](const std::string& text) {
    const std::string path = testing::TempDir() + "nbits_plan.yaml";
    std::ofstream(path) << text;
    config::Settings settings = settings_of("{}");
    settings.tool.nbits_plan = path;
    PassBench bench(two_layers(), settings);
    const Result<Changed> changed = pipeline::run_pass(bench.context, qdq::quantize_matmul_nbits);
    return changed.ok() ? "" : changed.status().message();
  };
  EXPECT_EQ(message("{nbits_plan: 1, matrices: {w: {bits: 8, group_size: 16}}}"), "");
  EXPECT_NE(message("{nbits_plan: 1, matrices: {u: {bits: 8}}}").find("'u' is not a matrix"), std::string::npos);
  EXPECT_NE(message("{nbits_plan: 1, matrices: {w: {bits: 5}}}").find("bits: 5, allowed are 2, 3, 4 and 8"),
            std::string::npos);
  EXPECT_NE(message("{nbits_plan: 1, matrices: {w: {bits: 4, group_size: 20}}}").find("20 is not a block size"),
            std::string::npos);
  EXPECT_NE(message("{nbits_plan: 1, matrices: {w: {group_size: 16}}}").find("bits is missing"), std::string::npos);
  EXPECT_NE(message("{matrices: {}}").find("--nbits-plan-out writes one"), std::string::npos);
}

}  // namespace
}  // namespace quarkq::pass_tests

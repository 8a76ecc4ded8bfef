// SPDX-License-Identifier: MIT
// Hadamard matrices, the rotations made of them, and QuaRot on a small residual stream.
#include "pipeline/run/pass_runner.h"
#include "rewrite/equalize/hadamard.h"
#include "support/golden_algorithms.h"
#include "support/pass_support.h"
#include "unit/base/temp_folder.h"

namespace quarkq::pass_tests {
namespace {

using nlohmann::json;
using test::golden_algorithms;
using test::PassBench;

constexpr int64_t kOrders[] = {12, 20, 28, 36, 40, 52, 60, 108, 140, 156, 172};

TEST(HadamardTest, RowsAreOrthogonal) {
  for (const int64_t order : kOrders) {
    const std::vector<int8_t> matrix = hadamard_matrix(order);
    ASSERT_EQ(matrix.size(), static_cast<size_t>(order * order)) << order;
    for (int64_t a = 0; a < order; ++a) {
      for (int64_t b = 0; b <= a; ++b) {
        int64_t product = 0;
        for (int64_t k = 0; k < order; ++k)
          product += matrix[static_cast<size_t>(a * order + k)] * matrix[static_cast<size_t>(b * order + k)];
        ASSERT_EQ(product, a == b ? order : 0) << "order " << order << " rows " << a << " and " << b;
      }
    }
  }
  EXPECT_TRUE(hadamard_matrix(44).empty());
}

std::vector<double> row_of(const Rotation& rotation, int64_t index) {
  std::vector<double> row(static_cast<size_t>(rotation.size()), 0.0);
  row[static_cast<size_t>(index)] = 1;
  rotation.apply(row);
  return row;
}

void expect_row(const Rotation& rotation, int64_t index, const json& expected) {
  const std::vector<double> row = row_of(rotation, index);
  const std::vector<float> wanted = test::flat(expected);
  ASSERT_EQ(row.size(), wanted.size());
  for (size_t i = 0; i < row.size(); ++i) EXPECT_NEAR(row[i], static_cast<double>(wanted[i]), 1e-7) << i;
}

TEST(HadamardTest, TheReferencesMatrices) {
  QQ_SKIP_WITHOUT_ALGORITHMS();
  const std::vector<int8_t> table = hadamard_matrix(12);
  EXPECT_EQ(std::vector<float>(table.begin(), table.end()), test::flat(golden_algorithms()["hadamard_12"]));
  const Rotation four = Rotation::make(4, false).value(), more = Rotation::make(24, false).value();
  for (int64_t i = 0; i < 4; ++i) expect_row(four, i, golden_algorithms()["quarot_R_4"][static_cast<size_t>(i)]);
  expect_row(more, 0, golden_algorithms()["quarot_R_24_row0_row13"][0]);
  expect_row(more, 13, golden_algorithms()["quarot_R_24_row0_row13"][1]);
  std::vector<int64_t> known = golden_algorithms()["quarot_known_sizes"];
  std::sort(known.begin(), known.end());
  EXPECT_EQ(known, std::vector<int64_t>(std::begin(kOrders), std::end(kOrders)));
}

TEST(HadamardTest, RotationsAreOrthogonal) {
  for (const bool is_random : {false, true}) {
    for (const int64_t size : {1, 2, 64, 80, 312}) {
      const Rotation rotation = Rotation::make(size, is_random).value();
      const std::vector<double> first = row_of(rotation, 0), last = row_of(rotation, size - 1);
      double square = 0, product = 0;
      for (size_t i = 0; i < first.size(); ++i) {
        square += first[i] * first[i];
        product += first[i] * last[i];
      }
      EXPECT_NEAR(square, 1, 1e-12);
      EXPECT_NEAR(product, size == 1 ? 1 : 0, 1e-12);
    }
  }
}

TEST(HadamardTest, ImpossibleSizesAreRefusedWithThePossibleOnes) {
  for (const int64_t size : {int64_t{0}, int64_t{-4}, int64_t{6}, int64_t{44}, int64_t{36 * 3}, int64_t{4095}}) {
    const Result<Rotation> rotation = Rotation::make(size, false);
    if (size == 108) {
      EXPECT_TRUE(rotation.ok());
      continue;
    }
    ASSERT_FALSE(rotation.ok()) << size;
    EXPECT_EQ(rotation.status().code(), Code::kInvalidArgument);
    EXPECT_NE(rotation.status().message().find("172"), std::string::npos);
  }
}

/// A residual stream of 12 channels: embed -> [norm -> up -> Relu -> down] + -> norm -> head. `gemm`: the layers are
/// Gemm with this transB; -1: MatMul.
std::string stream_body(int gemm) {
  const auto layer = [&](const char* name, int in, int out, uint32_t seed) {
    return cat("float[", gemm == 1 ? out : in, ", ", gemm == 1 ? in : out, "] ", name,
               "_w = ", test::numbers(static_cast<size_t>(in * out), seed));
  };
  const auto call = [&](const char* name, const char* from, const char* to, const char* bias) {
    return gemm < 0 ? cat("[", name, "] ", to, " = MatMul (", from, ", ", name, "_w)\n")
                    : cat("[", name, "] ", to, " = Gemm <transB = ", gemm, "> (", from, ", ", name, "_w", bias, ")\n");
  };
  const auto norm = [&](const char* name, const char* from, const char* to) {
    return cat(name, "q = Mul (", from, ", ", from, ")\n", name, "m = ReduceMean <axes = [-1]> (", name, "q)\n", name,
               "e = Add (", name, "m, eps)\n", name, "s = Sqrt (", name, "e)\n", name, "d = Div (", from, ", ", name,
               "s)\n[", name, "] ", to, " = Mul (", name, "d, ", name, "_weight)\n");
  };
  const std::string nodes = call("embed", "x", "h0", ", embed_b") + norm("n1", "h0", "a") +
                            call("up", "a", "u", ", up_b") + "r = Relu (u)\n" + call("down", "r", "v", "") +
                            "h1 = Add (h0, v)\n" + norm("n2", "h1", "f") + call("head", "f", "y", "");
  return cat("g (float[5, 6] x) => (float[5, 3] y) <", layer("embed", 6, 12, 1), ", ", layer("up", 12, 7, 2), ", ",
             layer("down", 7, 12, 3), ", ", layer("head", 12, 3, 4),
             ", float[12] n1_weight = ", test::numbers(12, 5, 0.5, 2),
             ", float[12] n2_weight = ", test::numbers(12, 6, 0.5, 2), ", float[12] embed_b = ", test::numbers(12, 7),
             ", float[7] up_b = ", test::numbers(7, 8), ", float[1] eps = {0.00001}> {\n", nodes, "}");
}

const char* const kPairs = R"({"R1_pairs": [
    {"prev_nodes": ["embed"], "norm_node": "n1", "next_nodes": ["up"]},
    {"prev_nodes": ["down"], "norm_node": "n2", "next_nodes": ["head"]}]})";

class RotateWeightsTest : public testing::Test {
 protected:
  config::Settings settings_with(const std::string& text, int64_t size = 12, bool is_random = false) {
    const std::string path = folder_ / "pairs.json";
    std::ofstream(path) << text;
    config::Settings settings = test::settings_for("A8W8");
    settings.algorithms.r_config_path = path;
    settings.algorithms.r_matrix_dim = size;
    settings.algorithms.use_random_had = is_random;
    return settings;
  }

  void expect_rotated(const std::string& body, const std::string& pairs, int64_t size = 12, bool is_random = false) {
    PassBench bench(test::model_of(body), settings_with(pairs, size, is_random));
    const ir::Model before = bench.model;
    EXPECT_TRUE(bench.run(rotate_weights));
    EXPECT_NE(ir::dump(before), ir::dump(bench.model));
    test::expect_same_outputs(before, bench.model, 1e-4);
  }

  /// The message of the refusal, which leaves the model as it was.
  std::string refusal(const std::string& body, const config::Settings& settings) {
    PassBench bench(test::model_of(body), settings);
    const std::string before = ir::dump(bench.model);
    const Result<Changed> changed = pipeline::run_pass(bench.context, rotate_weights);
    EXPECT_FALSE(changed.ok());
    EXPECT_EQ(changed.status().code(), Code::kInvalidArgument);
    EXPECT_EQ(ir::dump(bench.model), before);
    return changed.status().message();
  }

  test::TempFolder folder_;
};

TEST_F(RotateWeightsTest, KeepsTheFunctionOfAResidualStream) {
  for (const int gemm : {-1, 0, 1}) {
    SCOPED_TRACE(gemm);
    expect_rotated(stream_body(gemm), kPairs);
    expect_rotated(stream_body(gemm), kPairs, 12, /*is_random=*/true);
  }
}

TEST_F(RotateWeightsTest, WeightsAreProductsWithTheMatrix) {
  PassBench bench(test::model_of(stream_body(-1)), settings_with(kPairs));
  const std::vector<double> w = ir::to_double(*bench.graph().constant(bench.value("down_w"))).value();
  EXPECT_TRUE(bench.run(rotate_weights));
  const std::vector<double> found = ir::to_double(*bench.graph().constant(bench.value("down_w"))).value();
  const Rotation rotation = Rotation::make(12, false).value();
  double expected = 0;
  for (int64_t k = 0; k < 12; ++k) expected += w[static_cast<size_t>(12 + k)] * row_of(rotation, k)[5];
  EXPECT_NEAR(found[12 + 5], expected, 1e-6);
  for (const float one : bench.graph().constant(bench.value("n1_weight"))->data<float>()) EXPECT_EQ(one, 1.0f);
}

/// A norm with gamma and beta on 2-D or 3-D data; inputs are rotated before it by a layer without mean.
std::string norm_body(const std::string& rows, const std::string& layer) {
  return cat("g (float[", rows, ", 4] x) => (float[", rows, ", 3] y) <float[4, 4] p_w = ", test::numbers(16, 1),
             ", float[4] n_weight = ", test::numbers(4, 2, 0.5, 2), ", float[4] n_bias = ", test::numbers(4, 3),
             ", float[4, 3] q_w = ", test::numbers(12, 4), ", float[3] q_b = ", test::numbers(3, 5),
             "> { [p] h = MatMul (x, p_w)\n [n] m = LayerNormalization (h, n_weight, n_bias)\n [q] y = ", layer, " }");
}

const char* const kOnePair = R"({"R1_pairs": [{"prev_nodes": [], "norm_node": "n", "next_nodes": ["q"]}]})";

/// Only what concerns the norm's weight and bias: the layer after is rotated back by hand.
void expect_norm_absorbed(PassBench& bench, const std::string& ops) {
  const ir::Model before = bench.model;
  EXPECT_TRUE(bench.run(rotate_weights));
  EXPECT_EQ(bench.ops(), ops);
  EXPECT_FALSE(bench.graph().find("n_bias").valid());
  ir::GraphEdit edit(bench.model.graph);
  const ir::ValueId weight = bench.value("q_w");
  ir::Tensor stored = *bench.graph().constant(weight);
  rotate_axis(Rotation::make(4, false).value(), stored.mutable_data<float>(), 3);  // R is symmetric, so R R = I
  edit.set_constant(weight, stored);
  test::expect_same_outputs(before, bench.model, 1e-5);
  EXPECT_EQ(bench.diagnostics.all().back().id, "rotation-not-exact");
}

TEST_F(RotateWeightsTest, ANormsBiasGoesIntoTheLayerBehindIt) {
  PassBench flat(test::model_of(norm_body("5", "MatMul (m, q_w)")), settings_with(kOnePair, 4));
  expect_norm_absorbed(flat, "MatMul LayerNormalization Gemm");
  PassBench deep(test::model_of(norm_body("2, 5", "MatMul (m, q_w)")), settings_with(kOnePair, 4));
  expect_norm_absorbed(deep, "MatMul LayerNormalization MatMul Add");
  PassBench gemm(test::model_of(norm_body("5", "Gemm <alpha = 2.0, beta = 0.5> (m, q_w, q_b)")),
                 settings_with(kOnePair, 4));
  expect_norm_absorbed(gemm, "MatMul LayerNormalization Gemm");
  PassBench bare(test::model_of(norm_body("5", "Gemm <alpha = 2.0, beta = 0.5> (m, q_w)")), settings_with(kOnePair, 4));
  expect_norm_absorbed(bare, "MatMul LayerNormalization Gemm");
}

TEST_F(RotateWeightsTest, EmbeddingTablesSharedWithTheHeadAreCopied) {
  expect_rotated(cat(R"(g (float[5] x) => (float[5, 5] y) <int64[5] ids = {0, 2, 1, 4, 3}, float[5, 4] table = )",
                     test::numbers(20, 1), ", float[4] b = ", test::numbers(4, 2), R"(> {
      [embed] t = Gather (table, ids)
      c = Cos (x)
      [scale] k = Gemm <transB = 1> (t, table)
      y = Add (k, c)
    })"),
                 R"({"R1_pairs": [{"prev_nodes": ["embed"], "next_nodes": ["scale"]}]})", 4);
}

TEST_F(RotateWeightsTest, TheBiasBehindAMatMulIsRotatedWithIt) {
  expect_rotated(cat(R"(g (float[2, 3, 4] x) => (float[2, 3, 4] y) <float[4, 4] v = )", test::numbers(16, 1),
                     ", float[4] b = ", test::numbers(4, 2), ", float[4, 4] w = ", test::numbers(16, 3), R"(> {
      [one] a = MatMul (x, v)
      s = Add (b, a)
      [two] y = MatMul (s, w)
    })"),
                 R"({"R1_pairs": [{"prev_nodes": ["one"], "next_nodes": ["two"]}]})", 4);
}

TEST_F(RotateWeightsTest, RefusalsNameFilePairAndNode) {
  const std::string body = stream_body(-1);
  struct Case {
    const char* text;
    const char* part;
  };
  const Case cases[] = {
      {R"({"R1_pairs": [{"prev_nodes": ["nobody"], "next_nodes": []}]})", "R1_pairs[0]: prev_nodes: no node is called"},
      {R"({"R1_pairs": [{"prev_nodes": "embed", "next_nodes": []}]})", "prev_nodes: a list of node names"},
      {R"({"R1_pairs": [{"prev_nodes": []}]})", "next_nodes: a list of node names"},
      {R"({"R1_pairs": [{"prev_nodes": [], "next_nodes": [3]}]})", "a node's name is expected"},
      {R"({"R1_pairs": [{"prev_nodes": [], "next_nodes": [], "norm_node": "?"}]})", "norm_node: no node is called '?'"},
      {R"({"R1_pairs": [{"prev_nodes": [], "next_nodes": [], "norm": "n1"}]})", "unknown key 'norm'"},
      {R"({"R1_pairs": [7]})", "a map is expected"},
      {R"({"R1_pairs": 7})", "R1_pairs: a list of pairs is expected"},
      {R"([1, 2])", "R1_pairs: a list of pairs is expected"},
      {R"({"R1_pairs": [)", "pairs.json"},
      {R"({"R1_pairs": [{"prev_nodes": ["n1"], "next_nodes": []}]})", "only MatMul and Gemm can be rotated"},
      {R"({"R1_pairs": [{"prev_nodes": ["up"], "next_nodes": []}]})", "output channels 7, RMatrixDim is 12"},
      {R"({"R1_pairs": [{"prev_nodes": ["embed"], "next_nodes": ["down"]}]})", "input channels 7, RMatrixDim is 12"},
      {R"({"R1_pairs": [{"prev_nodes": [], "norm_node": "up", "next_nodes": []}]})", "values for 12 channels"}};
  for (const Case& c : cases) {
    const std::string message = refusal(body, settings_with(c.text));
    EXPECT_NE(message.find(c.part), std::string::npos) << message;
    EXPECT_NE(message.find("pairs.json"), std::string::npos) << message;
  }
  EXPECT_NE(refusal(body, settings_with(kPairs, 11)).find("RMatrixDim"), std::string::npos);
  EXPECT_NE(refusal(body, test::settings_for("A8W8")).find("RConfigPath"), std::string::npos);
}

TEST_F(RotateWeightsTest, NothingToDoWithoutPairs) {
  PassBench bench(test::model_of(stream_body(-1)), settings_with(R"({"R1_pairs": []})"));
  test::expect_idle(bench, rotate_weights);
}

}  // namespace
}  // namespace quarkq::pass_tests

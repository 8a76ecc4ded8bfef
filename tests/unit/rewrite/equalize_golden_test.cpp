// SPDX-License-Identifier: MIT
// Equalization against the reference's numbers on hand-made layers.
#include "pipeline/run/pass_runner.h"
#include "rewrite/equalize/layer_chains.h"
#include "support/golden_algorithms.h"
#include "support/pass_support.h"

namespace quarkq::pass_tests {
namespace {

using nlohmann::json;
using test::golden_algorithms;
using test::PassBench;
using test::text_of;

config::Settings cle_settings() { return test::settings_for("A8W8"); }

/// Conv 1x1 layers c0, c1, ... with Relu between; every other one depthwise when asked for.
std::string conv_chain(const std::vector<json>& weights, const std::vector<json>& biases, bool depthwise_odd) {
  std::string initializers, nodes, from = "x";
  for (size_t i = 0; i < weights.size(); ++i) {
    const bool depthwise = depthwise_odd && i % 2 == 1;
    const size_t reads = depthwise ? 1 : i == 0 ? 3 : 2;
    initializers += cat(i == 0 ? "" : ", ", "float[2, ", reads, ", 1, 1] w", i, " = ", text_of(weights[i]));
    if (!biases[i].is_null()) initializers += cat(", float[2] b", i, " = ", text_of(biases[i]));
    nodes += cat("c", i, " = Conv <group = ", depthwise ? 2 : 1, "> (", from, ", w", i,
                 biases[i].is_null() ? "" : cat(", b", i), ")\n");
    from = cat("r", i);
    nodes += i + 1 < weights.size() ? cat(from, " = Relu (c", i, ")\n") : cat("y = Neg (c", i, ")\n");
  }
  return cat("g (float[1, 3, 2, 2] x) => (float[1, 2, 2, 2] y) <", initializers, "> {\n", nodes, "}");
}

std::vector<std::string> order_of(const PassBench& bench) {
  std::vector<std::string> order;
  for (const LayerChain& chain : order_chains(bench.graph(), find_chains(bench.graph(), bench.context.selection))) {
    std::vector<std::string> names;
    for (const ir::NodeId id : chain) names.push_back(bench.graph().value(bench.graph().node(id).output(0)).name);
    order.push_back(join(names, "-"));
  }
  return order;
}

/// The recorded order, whose layers are called conv0, conv1, ...
std::vector<std::string> recorded_order(const json& list) {
  std::vector<std::string> order;
  for (const json& chain : list) {
    std::vector<std::string> names;
    for (const std::string name : chain) names.push_back("c" + name.substr(4));
    order.push_back(join(names, "-"));
  }
  return order;
}

void expect_all_stored(const PassBench& bench, const json& expected) {
  for (const auto& [name, values] : expected.items()) test::expect_stored(bench.graph(), name, values);
}

void select_all(PassBench& bench) { bench.run(select_nodes); }

struct PairCase {
  const char* golden;
  void (*change)(config::Settings&);
};

const PairCase kPairCases[] = {
    {"default", [](config::Settings&) {}},
    {"no_append_bias", [](config::Settings& s) { s.algorithms.cle_scale_append_bias = false; }},
    {"no_threshold", [](config::Settings& s) { s.algorithms.cle_scale_use_threshold = false; }},
    {"threshold_10", [](config::Settings& s) { s.algorithms.cle_weight_threshold = 10; }},
    {"adaptive_-1", [](config::Settings& s) { s.algorithms.cle_steps = -1; }},
    {"steps_0", [](config::Settings& s) { s.algorithms.cle_steps = 0; }},
    {"steps_2", [](config::Settings& s) { s.algorithms.cle_steps = 2; }}};

TEST(EqualizeGoldenTest, PairsUnderEveryOption) {
  QQ_SKIP_WITHOUT_ALGORITHMS();
  const json& in = golden_algorithms()["cle_pair_inputs"];
  for (const PairCase& c : kPairCases) {
    SCOPED_TRACE(c.golden);
    config::Settings settings = cle_settings();
    c.change(settings);
    PassBench bench(test::model_of(conv_chain({in["w0_oihw_2x3x1x1"], in["w1_2x2x1x1"]}, {in["b0"], in["b1"]}, false)),
                    settings);
    select_all(bench);
    const ir::Model before = bench.model;
    EXPECT_EQ(bench.run(cross_layer_equalization), std::string(c.golden) != "steps_0");
    test::expect_same_outputs(before, bench.model);
    expect_all_stored(bench, golden_algorithms()[cat("cle_pair_", c.golden)]);
  }
}

TEST(EqualizeGoldenTest, ChainOfThree) {
  QQ_SKIP_WITHOUT_ALGORITHMS();
  const json& in = golden_algorithms()["cle_pair_inputs"];
  PassBench bench(
      test::model_of(conv_chain({in["w0_oihw_2x3x1x1"], in["w1_2x2x1x1"], golden_algorithms()["cle_chain3_inputs_w2"]},
                                {in["b0"], in["b1"], {}}, false)),
      cle_settings());
  select_all(bench);
  EXPECT_EQ(order_of(bench), recorded_order(golden_algorithms()["cle_chain3_pattern_order"]));
  const ir::Model before = bench.model;
  EXPECT_TRUE(bench.run(cross_layer_equalization));
  test::expect_same_outputs(before, bench.model);
  expect_all_stored(bench, golden_algorithms()["cle_chain3_default"]);
}

TEST(EqualizeGoldenTest, TripleBetweenThePairs) {
  QQ_SKIP_WITHOUT_ALGORITHMS();
  const json& in = golden_algorithms()["cle_triple_only"]["inputs"];
  PassBench bench(
      test::model_of(conv_chain({in["w0"], in["w_dw_2x1x1x1"], in["w_pw_2x2x1x1"]}, {in["b0"], in["b_dw"], {}}, true)),
      cle_settings());
  select_all(bench);
  EXPECT_EQ(order_of(bench), recorded_order(golden_algorithms()["cle_triple_pattern_order"]));
  const ir::Model before = bench.model;
  WorkingWeights weights(bench.model.graph);
  const std::vector<LayerChain> chains = find_chains(bench.graph(), bench.context.selection);
  ASSERT_EQ(chains.back().size(), 3u);
  equalize_chain(bench.graph(), chains.back(), bench.settings, weights);
  EXPECT_TRUE(weights.commit());
  test::expect_same_outputs(before, bench.model);
  expect_all_stored(bench, golden_algorithms()["cle_triple_only"]["outputs"]);

  bench.model = before;
  EXPECT_TRUE(bench.run(cross_layer_equalization));
  test::expect_same_outputs(before, bench.model);
  expect_all_stored(bench, golden_algorithms()["cle_triple_full_default"]);
}

TEST(EqualizeGoldenTest, LongerOrders) {
  QQ_SKIP_WITHOUT_ALGORITHMS();
  const json w = {{1.0, 2.0}, {3.0, 4.0}}, wide = {{1, 2, 3}, {4, 5, 6}}, none;
  PassBench five(test::model_of(conv_chain({wide, w, w, w, w}, {none, none, none, none, none}, false)), cle_settings());
  select_all(five);
  EXPECT_EQ(order_of(five), recorded_order(golden_algorithms()["cle_chain5_pattern_order"]));
  const json deep = {{1.0}, {2.0}};
  PassBench triples(test::model_of(conv_chain({wide, deep, w, deep, w}, {none, none, none, none, none}, true)),
                    cle_settings());
  select_all(triples);
  EXPECT_EQ(order_of(triples), recorded_order(golden_algorithms()["cle_two_triples_pattern_order"]));
}

TEST(EqualizeGoldenTest, GemmInBothOrientations) {
  QQ_SKIP_WITHOUT_ALGORITHMS();
  for (const int trans : {0, 1}) {
    const json& golden = golden_algorithms()[cat("cle_gemm_pair_transB", trans)];
    const std::string form = trans == 1 ? "float[2, 3] A" : "float[3, 2] A";
    PassBench bench(test::model_of(cat("g (float[1, 3] x) => (float[1, 2] y) <", form, " = ",
                                       text_of(golden["in"]["A"]), ", float[2] ba = ", text_of(golden["in"]["ba"]),
                                       ", float[2, 2] B = ", text_of(golden["in"]["B"]),
                                       ", float[2] bb = {0, 0}> { a = Gemm <transB = ", trans,
                                       "> (x, A, ba) r = Relu (a) y = Gemm <transB = ", trans, "> (r, B, bb) }")),
                    cle_settings());
    select_all(bench);
    const ir::Model before = bench.model;
    EXPECT_TRUE(bench.run(cross_layer_equalization));
    test::expect_same_outputs(before, bench.model);
    expect_all_stored(bench, golden["out"]);
  }
}

TEST(EqualizeGoldenTest, BiasColumn) {
  QQ_SKIP_WITHOUT_ALGORITHMS();
  json cases = golden_algorithms()["combine_weight_and_bias_cases"];
  cases["pair"] = {{"w", golden_algorithms()["cle_pair_inputs"]["w0_oihw_2x3x1x1"]},
                   {"b", golden_algorithms()["cle_pair_inputs"]["b0"]},
                   {"out", golden_algorithms()["cle_pair_combined_weight_bias"]}};
  for (const auto& [name, c] : cases.items()) {
    SCOPED_TRACE(name);
    const auto inner = static_cast<int64_t>(c["w"][0].size());
    const std::vector<float> column =
        bias_column(test::flat(c["w"]), {static_cast<int64_t>(c["w"].size()), inner}, test::flat(c["b"]));
    for (size_t i = 0; i < column.size(); ++i) {
      EXPECT_FLOAT_EQ(column[i], c["out"][i].back().get<float>());
    }
  }
}

TEST(EqualizeGoldenTest, TheMiddleOfAnEvenNumberOfRatiosDecides) {
  struct Row {
    float ratio;  ///< of the bias to the second weight; to the first one it is 25
    float shrink;
  };
  for (const Row row : {Row{37, 20}, Row{33, 10}}) {  // the average of both is above 30, or not
    const std::vector<float> column =
        bias_column(std::vector<float>{5.0f / 25, 5.0f / row.ratio}, {1, 2}, std::vector{5.0f});
    EXPECT_EQ(column, (std::vector<float>{5.0f / row.shrink})) << row.ratio;
  }
}

TEST(EqualizeGoldenTest, Stem) {
  QQ_SKIP_WITHOUT_ALGORITHMS();
  const json& golden = golden_algorithms()["stem_equalization"];
  PassBench bench(
      test::model_of(
          cat("g (float[1, 1, 2, 2] x) => (float[1, 4, 2, 2] y) <float[4, 1, 1, 1] w = ", text_of(golden["in"]["w"]),
              ", float[4] b = ", text_of(golden["in"]["b"]), ", float[4] ga = ", text_of(golden["in"]["gamma"]),
              ", float[4] be = {0, 0, 0, 0}, float[4] me = ", text_of(golden["in"]["mean"]),
              ", float[4] va = {1, 1, 1, 1}> { c = Conv (x, w, b) r = Relu (c) y = BatchNormalization (r, ga, be, "
              "me, va) }")),
      cle_settings());
  select_all(bench);
  const ir::Model before = bench.model;
  EXPECT_TRUE(bench.run(equalize_stem));
  test::expect_same_outputs(before, bench.model);
  expect_all_stored(bench, golden["out"]);
}

}  // namespace
}  // namespace quarkq::pass_tests

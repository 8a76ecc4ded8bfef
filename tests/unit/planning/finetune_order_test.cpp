// SPDX-License-Identifier: MIT
// GPTQ and bias correction come before the finetuning, which then works on their result (ref:rewrites#order-of-stages).
#include <algorithm>

#include "pipeline/pass_runner.h"
#include "support/legalize_samples.h"

namespace quarkq::pass_tests {
namespace {

const std::string kLayers =
    cat("g (float[1, 3, 8, 8] x) => (float[1, 6] y) <float[8, 3, 3, 3] w0 = ", test::numbers(216, 1),
        ", float[8] b0 = ", test::numbers(8, 2), ", float[8, 6] w1 = ", test::numbers(48, 3), R"(> {
  c = Conv<pads=[1, 1, 1, 1]> (x, w0, b0)
  r = Relu (c)
  p = GlobalAveragePool (r)
  f = Flatten (p)
  y = MatMul (f, w1)
})");

struct WholeRun {
  explicit WholeRun(std::vector<std::string> sets)
      : bench(test::model_of(kLayers), test::settings_for("A8W8_ADAROUND", std::move(sets))),
        samples(bench.model.graph, 8) {
    bench.context.source.data = &samples;
    for (const PassInfo& pass : pipeline::all_passes()) {
      if (pass.phase == Phase::kCalibrate && original.graph.node_count() == 0) {
        original = bench.model;
        bench.context.calibrated = std::make_shared<const ir::Model>(original);
      }
      if (!pass.enabled(bench.settings)) continue;
      names.push_back(pass.name);
      EXPECT_TRUE(pipeline::run_pass(bench.context, pass.run).ok()) << pass.name;
      if (pass.name == std::string("sort-nodes")) matrix = bench.value("w1"), bias = bench.value("b0");
      if (pass.name == std::string("correct-bias")) between = codes_of(bias);
    }
  }
  std::vector<double> codes_of(ir::ValueId value) const {
    const plan::QuantSlot* slot = bench.context.plan.find(value);
    return slot == nullptr || !slot->codes ? std::vector<double>() : ir::to_double(*slot->codes).value();
  }
  size_t place(const char* name) const {
    return static_cast<size_t>(std::find(names.begin(), names.end(), name) - names.begin());
  }

  test::PassBench bench;
  test::RandomSamples samples;
  ir::Model original;
  std::vector<std::string> names;
  ir::ValueId matrix, bias;
  std::vector<double> between;  ///< codes of the bias before the finetuning
};

TEST(FinetuneOrderTest, CorrectionsComeFirst) {
  WholeRun all({"BiasCorrection=true", "UseGPTQ=true", "FastFinetune.NumIterations=20"});
  EXPECT_LT(all.place("cross-layer-equalization"), all.place("correct-bias"));
  EXPECT_LT(all.place("quantize-weights-gptq"), all.place("correct-bias"));
  EXPECT_LT(all.place("correct-bias"), all.place("finetune-weights"));
  EXPECT_LT(all.place("finetune-weights"), all.names.size());
  EXPECT_EQ(all.bench.context.tuning.layers.size(), 1u);  // GPTQ leaves activations float, the input of the Conv, too
}

TEST(FinetuneOrderTest, TheFinetuningKeepsTheCorrectedBias) {
  const WholeRun plain({"FastFinetune.NumIterations=20"}),
      corrected({"BiasCorrection=true", "FastFinetune.NumIterations=20"});
  EXPECT_NE(corrected.between, plain.codes_of(plain.bias));
  EXPECT_EQ(corrected.codes_of(corrected.bias), corrected.between);
  const ir::Graph& graph = corrected.bench.model.graph;
  EXPECT_EQ(ir::to_double(*graph.constant(graph.find("b0_quantized"))).value(), corrected.between);
}

TEST(FinetuneOrderTest, TheFinetuningRoundsOnTheGridOfGptq) {
  const WholeRun run({"UseGPTQ=true", "FastFinetune.NumIterations=20"});
  const plan::QuantSlot& slot = run.bench.context.plan.slot(run.matrix);
  EXPECT_EQ(slot.stage.spec.type, ElementType::kUInt8);
  EXPECT_EQ(slot.codes->type(), ElementType::kUInt8);
  const ir::Graph& graph = run.bench.model.graph;
  EXPECT_TRUE(graph.constant(graph.find("w1_quantized"))->same_as(*slot.codes));
  EXPECT_LT(test::output_difference(run.original, run.bench.model, run.samples).square, 1e-2);
}

TEST(FinetuneOrderTest, LayersLearnFromWhatTheFinishedModelGivesThem) {
  const WholeRun plain({"FastFinetune.NumIterations=20"}),
      direct(
          {"RemoveQDQBetweenOps=[[GlobalAveragePool, Flatten], [Flatten, MatMul]]", "FastFinetune.NumIterations=20"});
  const auto &with_pair = plain.bench.context.tuning.layers, &without = direct.bench.context.tuning.layers;
  ASSERT_EQ(with_pair.size(), 2u);
  ASSERT_EQ(without.size(), 2u);
  EXPECT_EQ(without[0].error_before, with_pair[0].error_before);
  EXPECT_NE(without[1].error_before, with_pair[1].error_before);
}

}  // namespace
}  // namespace quarkq::pass_tests

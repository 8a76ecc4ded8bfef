// SPDX-License-Identifier: MIT
// The finetuning of whole blocks as a pass: what is gained, that nothing gets worse, the same bytes for any number of
// threads, memory budgets and resumed runs.
#include <omp.h>

#include <filesystem>

#include "support/finetuning.h"

namespace quarkq::pass_tests {
namespace {

using test::Finetuning;

/// A stem, an inverted residual block, a squeeze and excitation block, a classifier.
const std::string kResidual =
    cat("g (float[1, 3, 12, 12] x) => (float[1, 5] y) <float[8, 3, 3, 3] w0 = ", test::numbers(216, 1),
        ", float[8] b0 = ", test::numbers(8, 2), ", float[24, 8, 1, 1] w1 = ", test::numbers(192, 3),
        ", float[24] b1 = ", test::numbers(24, 4), ", float[24, 1, 3, 3] w2 = ", test::numbers(216, 5),
        ", float[24] b2 = ", test::numbers(24, 6), ", float[8, 24, 1, 1] w3 = ", test::numbers(192, 7),
        ", float[8] b3 = ", test::numbers(8, 8), ", float[8, 8, 1, 1] w4 = ", test::numbers(64, 9),
        ", float[5, 8] w5 = ", test::numbers(40, 10), ", float[5] b5 = ", test::numbers(5, 11), R"(> {
  c0 = Conv<pads=[1, 1, 1, 1]> (x, w0, b0)
  r0 = Relu (c0)
  c1 = Conv (r0, w1, b1)
  r1 = Relu (c1)
  c2 = Conv<group=24, pads=[1, 1, 1, 1]> (r1, w2, b2)
  r2 = Relu (c2)
  c3 = Conv (r2, w3, b3)
  s = Add (c3, r0)
  p0 = GlobalAveragePool (s)
  c4 = Conv (p0, w4)
  h = Sigmoid (c4)
  m = Mul (s, h)
  p = GlobalAveragePool (m)
  f = Flatten (p)
  y = Gemm<transB=1> (f, w5, b5)
})");

Finetuning tuning_of(const std::string& preset, std::vector<std::string> sets = {}, size_t count = 16) {
  sets.insert(sets.begin(), "FastFinetune.Unit=block");
  return Finetuning(preset, std::move(sets), count, kResidual);
}

TEST(FinetuneBlocksTest, BringsBlocksAndOutputsCloser) {
  for (const char* preset : {"A8W8_ADAROUND", "XINT8_ADAROUND", "A8W8_ADAQUANT", "A16W8_ADAROUND", "A8W8_BLOCK"}) {
    Finetuning tuning = tuning_of(preset);
    const std::string graph = ir::dump(tuning.bench.model);
    const bool changed = tuning.run();
    EXPECT_EQ(ir::dump(tuning.bench.model), graph) << preset;
    const auto& report = tuning.bench.context.tuning;
    EXPECT_EQ(report.layers.size(), 4u) << preset;
    EXPECT_NE(report.layers[1].node.find("(3 layers)"), std::string::npos) << report.layers[1].node;
    for (const FinetunedLayer& unit : report.layers)
      EXPECT_EQ(unit.kept, changed && unit.error_after < unit.error_before) << preset;
    ASSERT_TRUE(report.outputs) << preset;
    EXPECT_GE(report.outputs->cosine_after, report.outputs->cosine_before) << preset;
  }
}

TEST(FinetuneBlocksTest, ALayerAloneIsNoBlock) {
  Finetuning layers("A8W8_ADAROUND", {}, 16, kResidual), blocks = tuning_of("A8W8_ADAROUND");
  layers.run();
  blocks.run();
  EXPECT_EQ(layers.bench.context.tuning.layers.size(), 6u);
  EXPECT_NE(layers.codes(), blocks.codes());
  Finetuning explicitly("A8W8_ADAROUND", {"FastFinetune.Unit=layer"}, 16, kResidual);
  explicitly.run();
  EXPECT_EQ(explicitly.codes(), layers.codes());
}

TEST(FinetuneBlocksTest, ThreadsMemoryAndMixingDoNotShow) {
  for (const char* ratio : {"FastFinetune.DropRatio=1", "FastFinetune.DropRatio=0.5"}) {
    const int before = omp_get_max_threads();
    std::string first;
    for (const int threads : {1, 2}) {
      omp_set_num_threads(threads);
      Finetuning tuning = tuning_of("XINT8_ADAROUND", {ratio, "FastFinetune.NumIterations=60"});
      tuning.run();
      if (first.empty()) first = tuning.codes();
      EXPECT_EQ(tuning.codes(), first) << threads << " threads, " << ratio;
    }
    omp_set_num_threads(before);
    Finetuning on_disk =
        tuning_of("XINT8_ADAROUND", {ratio, "FastFinetune.NumIterations=60", "FastFinetune.MemOptLevel=2"});
    on_disk.run();
    EXPECT_EQ(on_disk.codes(), first) << ratio;
  }
}

/// Of what was learned, whether it was kept or put back for the sake of the outputs.
std::vector<double> errors_after(const Finetuning& tuning) {
  std::vector<double> errors;
  for (const FinetunedLayer& unit : tuning.bench.context.tuning.layers) errors.push_back(unit.error_after);
  return errors;
}

TEST(FinetuneBlocksTest, OptionsTakePart) {
  Finetuning plain = tuning_of("A8W8_ADAROUND");
  plain.run();
  for (const char* set : {"FastFinetune.OutputQDQ=true", "FastFinetune.DropRatio=0.5", "FastFinetune.FixedSeed=7"}) {
    Finetuning other = tuning_of("A8W8_ADAROUND", {set});
    other.run();
    EXPECT_NE(errors_after(other), errors_after(plain)) << set;
  }
}

TEST(FinetuneBlocksTest, GoesOnWhereItWasInterrupted) {
  const std::string folder = testing::TempDir() + "finetune_blocks_state";
  std::filesystem::remove_all(folder);
  Finetuning whole = tuning_of("A8W8_BLOCK");
  whole.run();
  for (const size_t stop_at : {size_t{5}, size_t{20}, size_t{34}}) {
    Finetuning interrupted = tuning_of("A8W8_BLOCK");
    interrupted.bench.context.tuning.state_folder = folder;
    size_t calls = 0;
    interrupted.bench.context.progress = [&](size_t, size_t) { return ++calls < stop_at; };
    EXPECT_EQ(pipeline::run_pass(interrupted.bench.context, finetune_weights).status().code(), Code::kInterrupted)
        << stop_at;
  }
  Finetuning resumed = tuning_of("A8W8_BLOCK");
  resumed.bench.context.tuning.state_folder = folder;
  resumed.run();
  EXPECT_EQ(resumed.codes(), whole.codes());
  EXPECT_TRUE(resumed.bench.context.tuning.layers[1].resumed);
  // What was done by layers is not taken for blocks.
  Finetuning layers("A8W8_BLOCK", {"FastFinetune.Unit=layer"}, 16, kResidual);
  layers.bench.context.tuning.state_folder = folder;
  layers.run();
  EXPECT_FALSE(layers.bench.context.tuning.layers[0].resumed);
}

/// Rounding errors of the two layers cancel, and the block of both cannot be made: each is trained on its own.
TEST(FinetuneBlocksTest, WorseOutputsArePutBack) {
  const auto negated = [](const std::string& numbers) {
    std::string result;
    for (size_t i = 0; i < numbers.size(); ++i) {
      const bool starts = i > 0 && (numbers[i - 1] == '{' || numbers[i - 1] == ' ');
      if (!starts || numbers[i] != '-') result += starts ? std::string("-") + numbers[i] : std::string(1, numbers[i]);
    }
    return result;
  };
  const std::string weights = test::numbers(216, 1);
  const std::string twins =
      cat("g (float[1, 3, 12, 12] x) => (float[1, 8, 10, 10] y) <float[8, 3, 3, 3] w0 = ", weights,
          ", float[8, 3, 3, 3] w1 = ", negated(weights),
          "> {\n  c0 = Conv (x, w0)\n  c1 = Conv (x, w1)\n  [sum] y = Sum (c0, c1)\n}");
  Finetuning tuning("XINT8_ADAROUND", {"FastFinetune.Unit=block", "nodes_to_exclude=[sum]"}, 16, twins);
  const std::string before = tuning.codes();
  EXPECT_FALSE(tuning.run());
  EXPECT_EQ(tuning.codes(), before);
  const auto& report = tuning.bench.context.tuning;
  ASSERT_TRUE(report.outputs);
  EXPECT_EQ(report.outputs->cosine_after, report.outputs->cosine_before);
  for (const FinetunedLayer& unit : report.layers) EXPECT_FALSE(unit.kept);
  EXPECT_EQ(test::diagnostic_ids(tuning.bench.diagnostics).back(), "finetune-no-gain");
}

TEST(FinetuneBlocksTest, NamesAWrongUnit) {
  for (const std::vector<std::string>& sets :
       {std::vector<std::string>{"FastFinetune.Unit=model"},
        std::vector<std::string>{"FastFinetune.Unit=block", "FastFinetune.RefModelPath=other.onnx"}}) {
    Finetuning tuning("A8W8", sets);
    const Result<Changed> changed = pipeline::run_pass(tuning.bench.context, finetune_weights);
    ASSERT_FALSE(changed.ok());
    EXPECT_NE(changed.status().message().find("FastFinetune.Unit"), std::string::npos) << changed.status().message();
  }
}

}  // namespace
}  // namespace quarkq::pass_tests

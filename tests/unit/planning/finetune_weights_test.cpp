// SPDX-License-Identifier: MIT
// The finetuning as a pass: codes get closer, nothing else changes, an interrupted run resumes.
#include <filesystem>

#include "ir/edit.h"
#include "onnx_io/save.h"
#include "support/finetuning.h"

namespace quarkq::pass_tests {
namespace {

using test::Finetuning;

TEST(FinetuneWeightsTest, BringsLayersCloser) {
  for (const char* preset : {"A8W8_ADAROUND", "XINT8_ADAROUND", "A8W8_ADAQUANT", "A16W8_ADAROUND"}) {
    Finetuning tuning(preset);
    const std::string graph = ir::dump(tuning.bench.model), before = tuning.codes();
    const bool changed = tuning.run();
    EXPECT_EQ(ir::dump(tuning.bench.model), graph) << preset;
    EXPECT_EQ(changed, tuning.codes() != before) << preset;
    EXPECT_EQ(tuning.bench.context.tuning.layers.size(), 3u) << preset;
    for (const FinetunedLayer& layer : tuning.bench.context.tuning.layers)
      EXPECT_EQ(layer.kept, layer.error_after < layer.error_before) << preset << " " << layer.node;
    EXPECT_GT(tuning.bench.context.tuning.layers[0].error_before, 0) << preset;
    EXPECT_LT(tuning.bench.context.tuning.layers[0].error_before, 0.1) << preset;
  }
}

TEST(FinetuneWeightsTest, CoarseWeightsGainMuch) {
  Finetuning tuning("A16W8_ADAROUND");
  // Scales 8 times as large: about 5 bits are left of each weight.
  for (plan::QuantSlot& slot : tuning.bench.context.plan.slots()) {
    if (slot.role != plan::Role::kWeight) continue;
    plan::ParamList params = tuning.bench.context.plan.params[slot.stage.params];
    for (numeric::QuantParams& one : params) one.scale *= 8;
    tuning.bench.context.plan.params.set(slot.stage.params, params);
    const auto values = tuning.bench.graph().value(slot.value).constant->data<float>();
    auto codes = slot.codes->mutable_data<int8_t>();
    for (size_t i = 0; i < codes.size(); ++i)
      codes[i] = static_cast<int8_t>(std::nearbyint(values[i] / params[0].scale));
  }
  EXPECT_TRUE(tuning.run());
  for (const FinetunedLayer& layer : tuning.bench.context.tuning.layers) {
    EXPECT_TRUE(layer.kept) << layer.node;
    EXPECT_LT(layer.error_after, 0.8 * layer.error_before) << layer.node;
  }
}

TEST(FinetuneWeightsTest, BlockFormatsLearnStraightThrough) {
  for (const char* preset : {"BF16_ADAQUANT", "BFP16_ADAQUANT", "MX9_ADAQUANT"}) {
    Finetuning tuning(preset, {"FastFinetune.NumIterations=20"});
    tuning.run();
    EXPECT_EQ(tuning.bench.context.tuning.layers.size(), 3u) << preset;
  }
}

TEST(FinetuneWeightsTest, RefusesWhatIsNoInteger) {
  Finetuning tuning("BF16_ADAQUANT", {"FastFinetune.OptimAlgorithm=adaround"});
  EXPECT_FALSE(tuning.run());
  EXPECT_EQ(test::diagnostic_ids(tuning.bench.diagnostics).back(), "finetune-failed");
}

TEST(FinetuneWeightsTest, OptionsTakePart) {
  Finetuning plain("A8W8_ADAROUND");
  plain.run();
  for (const char* set : {"FastFinetune.OutputQDQ=true", "FastFinetune.DropRatio=0.5", "FastFinetune.BatchSize=4",
                          "FastFinetune.FixedSeed=7", "FastFinetune.LearningRate=0.01", "FastFinetune.DataSize=4"}) {
    Finetuning other("A8W8_ADAROUND", {set});
    other.run();
    EXPECT_NE(other.codes(), plain.codes()) << set;
  }
  Finetuning conv("A8W8_ADAROUND", {"FastFinetune.TargetOpType=[Gemm]"});
  conv.run();
  EXPECT_EQ(conv.bench.context.tuning.layers.size(), 1u);
  Finetuning selective("A8W8_ADAROUND", {"FastFinetune.SelectiveUpdate=true"});
  const double before = selective.error();
  selective.run();
  EXPECT_LE(selective.error(), before * 1.05);
}

/// This process alone has more than 1 MB: everything goes to disk.
TEST(FinetuneWeightsTest, MemoryDoesNotChangeTheResult) {
  Finetuning plain("A8W8_ADAROUND");
  plain.run();
  for (const char* set :
       {"FastFinetune.MemoryBudgetMB=1", "FastFinetune.MemOptLevel=2", "FastFinetune.MemOptLevel=0"}) {
    Finetuning other("A8W8_ADAROUND", {set});
    other.run();
    EXPECT_EQ(other.codes(), plain.codes()) << set;
  }
  Finetuning nowhere("A8W8_ADAROUND", {"FastFinetune.MemOptLevel=2", "FastFinetune.CacheDir=/no/such/folder"});
  const Result<Changed> changed = pipeline::run_pass(nowhere.bench.context, finetune_weights);
  ASSERT_FALSE(changed.ok());
  EXPECT_NE(changed.status().message().find("/no/such/folder"), std::string::npos) << changed.status().message();
  Finetuning small("A8W8_ADAROUND", {"FastFinetune.MemoryBudgetMB=1"});
  small.run();
  EXPECT_EQ(test::diagnostic_ids(small.bench.diagnostics).back(), "finetune-memory");
}

TEST(FinetuneWeightsTest, GoesOnWhereItWasInterrupted) {
  const std::string folder = testing::TempDir() + "finetune_state";
  std::filesystem::remove_all(folder);
  Finetuning whole("A8W8_ADAROUND");
  whole.run();
  for (const size_t stop_at : {size_t{5}, size_t{9}, size_t{20}}) {
    Finetuning interrupted("A8W8_ADAROUND");
    interrupted.bench.context.tuning.state_folder = folder;
    size_t calls = 0;
    interrupted.bench.context.progress = [&](size_t, size_t) { return ++calls < stop_at; };
    EXPECT_EQ(pipeline::run_pass(interrupted.bench.context, finetune_weights).status().code(), Code::kInterrupted)
        << stop_at;
  }
  Finetuning resumed("A8W8_ADAROUND");
  resumed.bench.context.tuning.state_folder = folder;
  resumed.run();
  EXPECT_EQ(resumed.codes(), whole.codes());
  EXPECT_TRUE(resumed.bench.context.tuning.layers[0].resumed);
  EXPECT_FALSE(resumed.bench.context.tuning.layers[2].resumed);
  Finetuning other("A8W8_ADAROUND", {"FastFinetune.FixedSeed=3"});
  other.bench.context.tuning.state_folder = folder;
  other.run();
  EXPECT_FALSE(other.bench.context.tuning.layers[0].resumed);
}

TEST(FinetuneWeightsTest, DamagedStateIsNotTaken) {
  const std::string folder = testing::TempDir() + "finetune_damaged";
  std::filesystem::remove_all(folder);
  for (int round = 0; round < 2; ++round) {
    Finetuning tuning("A8W8_ADAROUND", {"FastFinetune.NumIterations=20"});
    tuning.bench.context.tuning.state_folder = folder;
    tuning.run();
    EXPECT_FALSE(tuning.bench.context.tuning.layers[0].resumed);
    for (const auto& entry : std::filesystem::directory_iterator(folder))
      std::filesystem::resize_file(entry.path(), std::filesystem::file_size(entry.path()) - 3);
  }
}

TEST(FinetuneWeightsTest, MemoryOptionsDoNotEndAResume) {
  const std::string folder = testing::TempDir() + "finetune_memory";
  std::filesystem::remove_all(folder);
  for (const char* set : {"FastFinetune.MemOptLevel=1", "FastFinetune.MemOptLevel=2"}) {
    Finetuning tuning("A8W8_ADAROUND", {set});
    tuning.bench.context.tuning.state_folder = folder;
    tuning.run();
    EXPECT_EQ(tuning.bench.context.tuning.layers[2].resumed, set == std::string("FastFinetune.MemOptLevel=2"));
  }
}

TEST(FinetuneWeightsTest, TakesOnlyTheLargestLayer) {
  Finetuning tuning("A8W8_ADAROUND", {"FastFinetune.SelectMaxMemLayer=true", "FastFinetune.NumIterations=5"});
  tuning.run();
  ASSERT_EQ(tuning.bench.context.tuning.layers.size(), 1u);
  EXPECT_EQ(tuning.bench.context.tuning.layers[0].node, "node c0 (Conv)");
}

/// The float model as reference changes nothing; one with other weights does, and names that differ leave layers out.
TEST(FinetuneWeightsTest, TakesAReferenceModel) {
  Finetuning plain("A8W8_ADAROUND");
  plain.run();
  const auto with_reference = [&](const std::string& name, const auto& change) {
    const std::string path = testing::TempDir() + name;
    ir::Model model = plain.original;
    change(model);
    EXPECT_TRUE(onnx_io::save(model, path).ok());
    auto tuning = std::make_unique<Finetuning>("A8W8_ADAROUND", std::vector{"FastFinetune.RefModelPath=" + path});
    tuning->run();
    return tuning;
  };
  EXPECT_EQ(with_reference("same.onnx", [](ir::Model&) {})->codes(), plain.codes());
  const auto other = with_reference("other.onnx", [](ir::Model& model) {
    const ir::ValueId bias = model.graph.find("b0");
    ir::Tensor larger = *model.graph.value(bias).constant;
    for (float& value : larger.mutable_data<float>()) value += 0.5f;
    ir::GraphEdit(model.graph).set_constant(bias, larger);
  });
  EXPECT_NE(other->codes(), plain.codes());
  const auto renamed = with_reference("renamed.onnx", [](ir::Model& model) {
    ir::GraphEdit edit(model.graph);
    edit.node(model.graph.order()[0]).name = "another";
  });
  EXPECT_EQ(renamed->bench.context.tuning.layers.size(), 2u);
  EXPECT_EQ(test::diagnostic_ids(renamed->bench.diagnostics).back(), "not-finetuned");
  Finetuning missing("A8W8_ADAROUND", {"FastFinetune.RefModelPath=/no/such.onnx"});
  const Result<Changed> changed = pipeline::run_pass(missing.bench.context, finetune_weights);
  ASSERT_FALSE(changed.ok());
  EXPECT_NE(changed.status().message().find("RefModelPath"), std::string::npos) << changed.status().message();
}

TEST(FinetuneWeightsTest, SaysWhatHasNoEffect) {
  for (const auto& [set, is_named] :
       {std::pair("FastFinetune.OptimDevice=cuda", true), std::pair("FastFinetune.OptimDevice=cpu", false),
        std::pair("FastFinetune.DynamicBatch=true", true), std::pair("FastFinetune.NumWorkers=4", true),
        std::pair("FastFinetune.PinMemory=false", false), std::pair("FastFinetune.MemOptLevel=0", false)}) {
    Finetuning tuning("A8W8_ADAROUND", {set, "FastFinetune.NumIterations=5"});
    tuning.run();
    const std::vector<std::string> ids = test::diagnostic_ids(tuning.bench.diagnostics);
    EXPECT_EQ(std::count(ids.begin(), ids.end(), "option-inert"), is_named ? 1 : 0) << set;
  }
}

TEST(FinetuneWeightsTest, LeavesOtherModelsAlone) {
  Finetuning tuning("A8W8_ADAROUND", {"FastFinetune.NumIterations=5"});
  tuning.bench.context.source.data = nullptr;
  const std::string before = tuning.codes();
  EXPECT_FALSE(tuning.run());
  EXPECT_EQ(tuning.codes(), before);
  EXPECT_EQ(test::diagnostic_ids(tuning.bench.diagnostics).back(), "finetune-left-out");
}

/// "{1, -2}" to "{-1, 2}".
std::string negated(const std::string& numbers) {
  std::string result;
  for (size_t i = 0; i < numbers.size(); ++i) {
    const bool starts = i > 0 && (numbers[i - 1] == '{' || numbers[i - 1] == ' ');
    if (!starts || numbers[i] != '-') result += starts ? std::string("-") + numbers[i] : std::string(1, numbers[i]);
  }
  return result;
}

TEST(FinetuneWeightsTest, TellsWhatBecameOfTheOutputs) {
  Finetuning tuning("XINT8_ADAROUND");
  tuning.run();
  const auto& outputs = tuning.bench.context.tuning.outputs;
  ASSERT_TRUE(outputs);
  EXPECT_EQ(outputs->samples, 2u);  // one of eight
  EXPECT_GT(outputs->cosine_after, outputs->cosine_before);
  EXPECT_LE(outputs->cosine_after, 1);
}

TEST(FinetuneWeightsTest, CloserLayersWithWorseOutputsAreAWarning) {
  // Rounding errors of the two layers cancel, until each is trained on its own.
  const std::string weights = test::numbers(216, 1);
  const std::string twins =
      cat("g (float[1, 3, 12, 12] x) => (float[1, 8, 10, 10] y) <float[8, 3, 3, 3] w0 = ", weights,
          ", float[8, 3, 3, 3] w1 = ", negated(weights),
          "> {\n  c0 = Conv (x, w0)\n  c1 = Conv (x, w1)\n  [sum] y = Add (c0, c1)\n}");
  Finetuning tuning("XINT8_ADAROUND", {"nodes_to_exclude=[sum]"}, 16, twins);
  EXPECT_TRUE(tuning.run());
  ASSERT_TRUE(tuning.bench.context.tuning.outputs);
  EXPECT_EQ(tuning.bench.context.tuning.outputs->cosine_before, 1);
  EXPECT_LT(tuning.bench.context.tuning.outputs->cosine_after, 1);
  EXPECT_EQ(test::diagnostic_ids(tuning.bench.diagnostics).back(), "finetune-no-gain");
}

TEST(FinetuneWeightsTest, NamesAWrongOption) {
  for (const char* set : {"FastFinetune.NumIterations=0", "FastFinetune.LearningRate=-1", "FastFinetune.BetaRange=[1]",
                          "FastFinetune.OptimAlgorithm=sgd", "FastFinetune.WarmStart=2", "FastFinetune.Nonsense=2",
                          "FastFinetune.MemOptLevel=3", "FastFinetune.MemoryBudgetMB=-1"}) {
    Finetuning tuning("A8W8", {set});
    const Result<Changed> changed = pipeline::run_pass(tuning.bench.context, finetune_weights);
    ASSERT_FALSE(changed.ok()) << set;
    EXPECT_NE(changed.status().message().find("FastFinetune"), std::string::npos) << changed.status().message();
  }
}

}  // namespace
}  // namespace quarkq::pass_tests

// SPDX-License-Identifier: MIT
// Layers that several processes train through a shared folder: the codes of a single process, whoever trained what.
#include <algorithm>
#include <filesystem>
#include <fstream>

#include "support/finetuning.h"
#include "unit/base/temp_folder.h"

namespace quarkq::pass_tests {
namespace {

namespace fs = std::filesystem;
using test::Finetuning;

constexpr size_t kLayers = 3;
const std::vector<std::string> kParallel = {"FastFinetune.Parallel=true", "FastFinetune.ClaimSeconds=1000"};

struct Worker : Finetuning {
  explicit Worker(const std::string& folder, const std::vector<std::string>& sets = kParallel,
                  const std::string& preset = "A8W8_ADAROUND", const std::string& body = test::kConvs)
      : Finetuning(preset, sets, 16, body) {
    bench.context.tuning.shared_folder = folder;
  }
};

std::string codes_of_one_process(const std::vector<std::string>& sets = kParallel,
                                 const std::string& preset = "A8W8_ADAROUND") {
  Finetuning alone(preset, sets);
  EXPECT_TRUE(alone.run());
  return alone.codes();
}

std::vector<bool> trained_by_others(const Finetuning& worker) {
  std::vector<bool> result;
  for (const FinetunedLayer& layer : worker.bench.context.tuning.layers) result.push_back(layer.resumed);
  return result;
}

/// The folder of the only run in a shared folder.
std::string run_folder(const test::TempFolder& folder) {
  EXPECT_EQ(folder.names().size(), 1u);
  return folder / folder.names().at(0);
}

std::vector<std::string> files_in(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename().string());
  std::ranges::sort(names);
  return names;
}

const std::vector<std::string> kResults = {"layer0.bin", "layer1.bin", "layer2.bin"};

TEST(ShareUnitsTest, GivesTheCodesOfOneProcess) {
  struct Row {
    const char *preset, *set;
  };
  constexpr Row kRows[] = {{"A8W8_ADAROUND", "FastFinetune.DropRatio=1"},
                           {"XINT8_ADAQUANT", "FastFinetune.DropRatio=1"},
                           {"A8W8_ADAROUND", "FastFinetune.DropRatio=0.5"},
                           {"A8W8_BLOCK", "FastFinetune.DropRatio=1"}};
  for (const Row& row : kRows) {
    const test::TempFolder folder;
    const std::vector<std::string> sets = {"FastFinetune.Parallel=true", row.set};
    const std::string codes = codes_of_one_process(sets, row.preset);
    Worker first(folder.path(), sets, row.preset), late(folder.path(), sets, row.preset);
    first.run();
    EXPECT_EQ(first.codes(), codes) << row.preset << row.set;
    EXPECT_EQ(std::ranges::count(trained_by_others(first), true), 0) << row.preset << row.set;
    late.run();
    EXPECT_EQ(late.codes(), codes) << row.preset << row.set;
    EXPECT_EQ(std::ranges::count(trained_by_others(late), false), 0) << row.preset << row.set;
    EXPECT_TRUE(late.bench.context.tuning.now.empty());
  }
}

/// The model is walked again for a layer that another process gave up.
TEST(ShareUnitsTest, LayersThatOthersGaveUpAreTrainedLast) {
  const test::TempFolder folder;
  const std::string codes = codes_of_one_process();
  Worker(folder.path()).run();
  const std::string run = run_folder(folder), claim = run + "/layer0.claim";
  for (const char* name : {"/layer0.bin", "/layer2.bin"}) fs::remove(run + name);
  std::ofstream(claim) << "another process\n";
  Worker worker(folder.path());
  std::vector<std::string> said;
  worker.bench.context.progress = [&](size_t, size_t total) {
    const std::string& now = worker.bench.context.tuning.now;
    if (said.empty() || said.back() != now) said.push_back(now);
    if (now.starts_with("waiting")) fs::remove(claim);
    return total == kLayers;
  };
  EXPECT_TRUE(worker.run());
  EXPECT_EQ(worker.codes(), codes);
  EXPECT_EQ(trained_by_others(worker), (std::vector<bool>{false, true, false}));
  EXPECT_EQ(files_in(run), kResults);
  ASSERT_EQ(said.size(), 6u);
  const char* const wanted[] = {"", "found node ", "training node ", "waiting for other processes", "training node ",
                                ""};
  for (size_t i = 0; i < said.size(); ++i) EXPECT_TRUE(said[i].starts_with(wanted[i])) << i << " " << said[i];
}

TEST(ShareUnitsTest, InterruptedWorkersLeaveWhatIsFinished) {
  const test::TempFolder folder;
  for (const size_t stop_at : {size_t{2}, size_t{8}, size_t{20}}) {
    Worker worker(folder.path());
    size_t calls = 0;
    worker.bench.context.progress = [&](size_t, size_t) { return ++calls < stop_at; };
    EXPECT_EQ(pipeline::run_pass(worker.bench.context, finetune_weights).status().code(), Code::kInterrupted);
  }
  for (const std::string& name : files_in(run_folder(folder))) EXPECT_TRUE(name.ends_with(".bin")) << name;
  Worker worker(folder.path());
  EXPECT_TRUE(worker.run());
  EXPECT_EQ(worker.codes(), codes_of_one_process());
  EXPECT_TRUE(trained_by_others(worker)[0]);
}

TEST(ShareUnitsTest, DamagedResultsAreMadeAgain) {
  const test::TempFolder folder;
  Worker first(folder.path());
  first.run();
  const std::string run = run_folder(folder);
  fs::resize_file(run + "/layer0.bin", 40);
  fs::remove(run + "/layer1.bin");
  fs::create_directory(run + "/layer1.bin.part-7");
  std::ofstream(run + "/layer2.bin") << "anything";
  Worker worker(folder.path());
  EXPECT_TRUE(worker.run());
  EXPECT_EQ(worker.codes(), first.codes());
  EXPECT_EQ(trained_by_others(worker), (std::vector<bool>{false, false, false}));
  Worker last(folder.path());
  last.run();
  EXPECT_EQ(trained_by_others(last), (std::vector<bool>{true, true, true}));
}

/// A result of the right run for a layer of another shape: the same label, other constants.
TEST(ShareUnitsTest, ResultsOfAnotherLayerAreMadeAgain) {
  const test::TempFolder folder;
  Worker(folder.path()).run();
  const std::string run = run_folder(folder);
  fs::copy_file(run + "/layer0.bin", run + "/layer1.bin", fs::copy_options::overwrite_existing);
  Worker worker(folder.path());
  EXPECT_TRUE(worker.run());
  EXPECT_EQ(trained_by_others(worker), (std::vector<bool>{true, false, true}));
  EXPECT_EQ(worker.codes(), codes_of_one_process());
}

TEST(ShareUnitsTest, OtherRunsAreNotTakenAndNoticed) {
  const test::TempFolder folder;
  Worker first(folder.path());
  first.run();
  const std::vector<std::string> ids = test::diagnostic_ids(first.bench.diagnostics);
  EXPECT_EQ(std::ranges::count(ids, "finetune-other-runs"), 0);
  Worker other(folder.path(), {"FastFinetune.Parallel=true", "FastFinetune.FixedSeed=7"});
  other.run();
  EXPECT_EQ(trained_by_others(other), (std::vector<bool>{false, false, false}));
  EXPECT_EQ(test::diagnostic_ids(other.bench.diagnostics).back(), "finetune-other-runs");
  EXPECT_EQ(folder.names().size(), 2u);
  // How long a worker may be silent does not decide over the result.
  Worker patient(folder.path(), {"FastFinetune.Parallel=true", "FastFinetune.ClaimSeconds=7"});
  patient.run();
  EXPECT_EQ(folder.names().size(), 2u);
}

TEST(ShareUnitsTest, LayersThatNeedEachOtherAreRefused) {
  const test::TempFolder folder;
  struct Row {
    std::vector<std::string> sets;
    const char* word;
  };
  const std::vector<Row> rows = {
      {{}, "FastFinetune.Parallel=true"},
      {{"FastFinetune.Parallel=true", "FastFinetune.SelectiveUpdate=true"}, "FastFinetune.SelectiveUpdate"}};
  for (const Row& row : rows) {
    Worker worker(folder.path(), row.sets);
    const auto result = pipeline::run_pass(worker.bench.context, finetune_weights);
    ASSERT_EQ(result.status().code(), Code::kInvalidArgument) << row.word;
    EXPECT_NE(result.status().message().find(row.word), std::string::npos) << result.status().message();
    EXPECT_TRUE(folder.names().empty());
  }
}

TEST(ShareUnitsTest, AFolderThatCannotBeIsNamed) {
  const test::TempFolder folder;
  Worker worker(folder.write("file", "text"));
  const auto result = pipeline::run_pass(worker.bench.context, finetune_weights);
  ASSERT_EQ(result.status().code(), Code::kIo);
  EXPECT_NE(result.status().message().find(folder / "file"), std::string::npos) << result.status().message();
}

/// The second layer has results of one dimension, which cannot be trained on; the third one gets its own values.
const std::string kVector =
    cat("g (float[1, 3, 12, 12] x) => (float[1, 5] y) <float[8, 3, 3, 3] w0 = ", test::numbers(216, 1),
        ", float[8, 6] w1 = ", test::numbers(48, 2), ", float[5, 6] w2 = ", test::numbers(30, 3),
        ", float[5] b2 = ", test::numbers(5, 4), ", int64[1] flat = {8}, int64[2] row = {1, 6}", R"(> {
  c0 = Conv (x, w0)
  p = GlobalAveragePool (c0)
  v = Reshape (p, flat)
  m = MatMul (v, w1)
  r = Reshape (m, row)
  y = Gemm<transB=1> (r, w2, b2)
})");

TEST(ShareUnitsTest, ALayerThatFailsDoesNotHarmTheNext) {
  const std::vector<std::string> types = {"FastFinetune.TargetOpType=[Conv, MatMul, Gemm]",
                                          "FastFinetune.TargetOpType=[Conv, Gemm]"};
  std::vector<double> errors;
  for (const std::string& set : types) {
    Finetuning tuning("A8W8_ADAROUND", {"FastFinetune.Parallel=true", set}, 16, kVector);
    tuning.run();
    ASSERT_EQ(tuning.bench.context.tuning.layers.size(), 2u);
    errors.push_back(tuning.bench.context.tuning.layers[1].error_before);
  }
  EXPECT_EQ(errors[0], errors[1]);
}

TEST(ShareUnitsTest, FailuresAreShared) {
  const test::TempFolder folder;
  for (const bool is_first : {true, false}) {
    Worker worker(folder.path(), kParallel, "A8W8_ADAROUND", kVector);
    worker.run();
    EXPECT_EQ(trained_by_others(worker), std::vector<bool>(2, !is_first));
    EXPECT_EQ(test::diagnostic_ids(worker.bench.diagnostics).back(), "finetune-failed") << is_first;
  }
}

}  // namespace
}  // namespace quarkq::pass_tests

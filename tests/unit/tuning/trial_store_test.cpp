// SPDX-License-Identifier: MIT
#include "tuning/trial_store.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "unit/base/temp_folder.h"

namespace quarkq::tuning {
namespace {

using test::TempFolder;

Trial example() {
  Trial trial;
  trial.step = "ranges", trial.name = "ranges: Entropy";
  trial.settings = {"calibrate_method=CalibrationMethod.Entropy", "a=\"b\nc\""};
  trial.value = 0.8125, trial.cosine = 0.1 + 0.2, trial.wide_macs = 0.125, trial.bytes = uint64_t{1} << 40;
  trial.deployable = {"x2", Deployability::Holds::kNo, "why", "cut-tail", 10, 12, 1};
  trial.seconds = 1.5;
  trial.resamples = {4, {0.5, 0.1 + 0.2, 1}, "0101"};
  return trial;
}

Result<std::string> key_of_run(const TuneRequest& request, const std::string& settings_text) {
  FileHashes hashes;
  return run_key(request, settings_text, hashes);
}

Result<size_t> shared_files(const std::string& folder, const std::string& other) {
  FileHashes hashes;
  return count_shared_files(folder, other, hashes);
}

TEST(TrialStoreTest, TextOfATrialReadsBackAsTheSame) {
  const Trial trial = example();
  const std::optional<Trial> read = parse_trial(encode_trial(trial));
  ASSERT_TRUE(read);
  EXPECT_EQ(encode_trial(*read), encode_trial(trial));
  EXPECT_EQ(read->cosine, trial.cosine);
  EXPECT_EQ(read->settings, trial.settings);
  EXPECT_EQ(read->resamples.draws, trial.resamples.draws) << "gains come from them";
  EXPECT_EQ(read->resamples.hits, "0101");
  for (const char* damaged :
       {"", "{", "[]", "{\"settings\": 3}", "{\"settings\": [1], \"name\": \"x\"}", "{\"settings\": []}"}) {
    EXPECT_FALSE(parse_trial(damaged)) << damaged;
  }
}

TEST(TrialStoreTest, ATrialIsDoneOnceItsFileAndItsModelAreThere) {
  const TempFolder folder;
  TrialStore store(folder / "state", "key", "out.onnx");
  ASSERT_TRUE(store.share().ok());
  Trial trial = example();
  const Result<std::string> model = store.make_model_path(trial.settings);
  ASSERT_TRUE(model.ok());
  EXPECT_FALSE(store.save(trial).ok());  // its model is missing
  EXPECT_FALSE(store.load(trial.settings));
  std::ofstream(model.value()) << "model";
  ASSERT_TRUE(store.save(trial).ok());
  const std::optional<Trial> done = store.load(trial.settings);
  ASSERT_TRUE(done);
  EXPECT_TRUE(done->is_reused);
  EXPECT_FALSE(store.load({"other=1"}));
  EXPECT_FALSE(TrialStore(folder / "state", "other key", "out.onnx").load(trial.settings));
  ASSERT_TRUE(store.copy_model(trial, folder / "out.onnx").ok());
  EXPECT_EQ(test::content_of(folder / "out.onnx"), "model");
  store.remove();
  EXPECT_FALSE(std::filesystem::exists(folder / "state"));
}

TEST(TrialStoreTest, AModelThatWasChangedIsNotTheTrials) {
  const TempFolder folder;
  const TrialStore store(folder / "state", "key", "out.onnx");
  Trial trial = example();
  const std::string model = store.make_model_path(trial.settings).value();
  std::ofstream(model) << "model";
  std::ofstream(model + ".data") << "weights";
  ASSERT_TRUE(store.save(trial).ok());
  ASSERT_TRUE(store.load(trial.settings));
  std::ofstream(model + ".data") << "Weights";
  EXPECT_FALSE(store.load(trial.settings));
  EXPECT_FALSE(store.copy_model(trial, folder / "out.onnx").ok());
  EXPECT_FALSE(std::filesystem::exists(folder / "out.onnx"));
  std::ofstream(model + ".data") << "weights";
  ASSERT_TRUE(store.load(trial.settings));
  std::filesystem::rename(model, folder / "elsewhere");
  std::filesystem::create_symlink(folder / "elsewhere", model);  // the same bytes, but a link may lead anywhere
  EXPECT_FALSE(store.load(trial.settings));
  EXPECT_EQ(store.make_model_path(trial.settings).value(), model);
  EXPECT_FALSE(std::filesystem::exists(std::filesystem::symlink_status(model)));
  EXPECT_TRUE(std::filesystem::exists(folder / "elsewhere"));
}

TEST(TrialStoreTest, TheLastOfTwoRunsRemovesTheFolder) {
  const TempFolder folder;
  TrialStore first(folder / "state", "key", "out.onnx"), second(folder / "state", "key", "out.onnx");
  ASSERT_TRUE(first.share().ok());
  ASSERT_TRUE(second.share().ok());
  {
    TrialStore third(folder / "state", "key", "out.onnx");
    ASSERT_TRUE(third.share().ok());
    third.remove();
  }
  first.remove();
  EXPECT_TRUE(std::filesystem::exists(folder / "state/key"));
}

TEST(TrialStoreTest, WeightsBesideTheModelKeepTheirName) {
  const TempFolder folder;
  const TrialStore store(folder / "state", "key", "out.onnx");
  Trial trial = example();
  const std::string model = store.make_model_path(trial.settings).value();
  std::ofstream(model) << "model";
  std::ofstream(model + ".data") << "weights";
  ASSERT_TRUE(store.save(trial).ok());
  ASSERT_TRUE(store.copy_model(trial, folder / "out.onnx").ok());
  EXPECT_EQ(test::content_of(folder / "out.onnx.data"), "weights");
}

TEST(TrialStoreTest, FloatValuesKeepTheirDigits) {
  const TempFolder folder;
  const TrialStore store(folder / "state", "key", "out.onnx");
  ASSERT_TRUE(store.make_folder().ok());
  EXPECT_FALSE(store.load_float_value());
  ASSERT_TRUE(store.save_float_value({0.1 + 0.2, {2, {0.7, 0.1 + 0.2}, "10"}}).ok());
  const Measure read = store.load_float_value().value();
  EXPECT_EQ(read.value, 0.1 + 0.2);
  EXPECT_EQ(read.samples.draws, (std::vector<double>{0.7, 0.1 + 0.2}));
  for (const char* damaged : {"", "0.5", "{\"value\": null}", "{\"value\": \"1\"}"}) {
    folder.write("state/key/float.json", damaged);
    EXPECT_FALSE(store.load_float_value()) << damaged;
  }
}

TEST(RunKeyTest, DependsOnTheBytesOfModelAndSamples) {
  const TempFolder folder;
  TuneRequest request;
  request.model_path = folder.write("m.onnx", "model");
  folder.write("calib/1.npy", "one");
  request.calib_folder = folder / "calib";
  const std::string key = key_of_run(request, "settings").value();
  EXPECT_EQ(key_of_run(request, "settings").value(), key);
  EXPECT_NE(key_of_run(request, "other").value(), key);
  folder.write("calib/1.npy", "two");
  EXPECT_NE(key_of_run(request, "settings").value(), key);
  request.model_path = folder / "none.onnx";
  EXPECT_FALSE(key_of_run(request, "settings").ok());
}

TEST(RunKeyTest, DependsOnEverythingThatAMetricReads) {
  const TempFolder folder;
  TuneRequest plain;
  plain.model_path = folder.write("m.onnx", "model");
  const std::string truth = folder.write("labels.csv", "a,1"), names = folder.write("classes.txt", "a,1");
  std::vector<std::string> keys = {key_of_run(plain, "settings").value()};
  const auto add = [&](auto change) {
    TuneRequest request = plain;
    change(request);
    const Result<std::string> key = key_of_run(request, "settings");
    ASSERT_TRUE(key.ok()) << key.status().message();
    for (const std::string& other : keys) EXPECT_NE(key.value(), other);
    keys.push_back(key.value());
  };
  add([&](TuneRequest& request) { request.metric.truth_path = truth; });
  add([&](TuneRequest& request) { request.metric.classes_path = names; });
  add([](TuneRequest& request) { request.metric.names = {"top1"}; });
  add([](TuneRequest& request) { request.metric.command = "top1"; });
  add([](TuneRequest& request) { request.metric.detector.head = "yolov8"; });
  add([](TuneRequest& request) { request.metric.detector.min_score = 0.5; });
  add([](TuneRequest& request) { request.limit = 10; });
}

TEST(RunKeyTest, DoesNotDependOnTheGoalOrTheTime) {
  const TempFolder folder;
  TuneRequest request;
  request.model_path = folder.write("m.onnx", "model");
  const std::string key = key_of_run(request, "settings").value();
  request.goal = "value>=1", request.seconds = 10, request.threads = 1, request.output_path = "other.onnx";
  EXPECT_EQ(key_of_run(request, "settings").value(), key);
}

TEST(SharedFilesTest, AreFoundByTheirBytes) {
  const TempFolder folder;
  folder.write("a/1", "one"), folder.write("a/2", "two"), folder.write("b/c/x", "two");
  EXPECT_EQ(shared_files(folder / "a", folder / "b").value(), 1u);
  EXPECT_EQ(shared_files(folder / "b", folder / "a").value(), 1u);
}

}  // namespace
}  // namespace quarkq::tuning

// SPDX-License-Identifier: MIT
// score() of models: the bundled example against its labels, from files and from memory, alone and beside another.
#include <cmath>
#include <fstream>
#include <iterator>

#include "quarkq/evaluate.h"
#include "unit/base/temp_folder.h"

namespace quarkq {
namespace {

const std::string kDigits = std::string(QUARKQ_SOURCE_DIR) + "/examples/digits/";

ScoreRequest digits_request(std::vector<std::string> metrics) {
  ScoreRequest request;
  request.results = kDigits + "digits.onnx";
  request.data_folder = kDigits + "eval/inputs";
  request.metric.names = std::move(metrics);
  request.metric.truth_path = kDigits + "eval/labels.csv";
  return request;
}

TEST(ScoreModelsTest, AModelScoresAsItsResultsDo) {
  const test::TempFolder folder;
  RunRequest run;
  run.model_path = kDigits + "digits.onnx";
  run.input_folder = kDigits + "eval/inputs";
  run.output_folder = folder.path();
  ASSERT_TRUE(run_model(run).ok());
  ScoreRequest results = digits_request({"top1", "top3"});
  results.results = folder.path();
  results.data_folder.clear();
  const ScoreReport of_model = score(digits_request({"top1", "top3"})).value(), of_results = score(results).value();
  EXPECT_EQ(of_model.samples, 360u);
  EXPECT_EQ(of_results.samples, 360u);
  for (size_t i = 0; i < 2; ++i) EXPECT_EQ(of_model.metrics[i].value, of_results.metrics[i].value);
  EXPECT_GT(of_model.metrics[0].value, 0.95);
}

TEST(ScoreModelsTest, AModelBesideItselfIsEqual) {
  ScoreRequest request = digits_request({"top1", "cosine", "l2"});
  request.baseline = request.results;
  request.limit = 20;
  const ScoreReport report = score(request).value();
  EXPECT_EQ(report.samples, 20u);
  EXPECT_EQ(report.metrics[0].baseline, report.metrics[0].value);
  EXPECT_NEAR(report.metrics[1].value, 1, 1e-12);
  EXPECT_EQ(report.metrics[2].value, 0);
}

TEST(ScoreModelsTest, AFunctionGetsTheResultsOfBothModels) {
  ScoreRequest request = digits_request({});
  request.baseline = request.results;
  request.limit = 4;
  std::vector<size_t> seen;
  request.metric.function = [&](size_t sample, const std::vector<SampleTensor>& expected,
                                const std::vector<SampleTensor>& found) {
    seen.push_back(sample);
    const bool is_same = expected.size() == 1 && found.size() == 1 && expected[0].name == found[0].name &&
                         expected[0].type == "FLOAT" && expected[0].dims == found[0].dims;
    return Result<double>(is_same ? static_cast<double>(sample) : -100.0);
  };
  const ScoreReport report = score(request).value();
  EXPECT_EQ(seen, (std::vector<size_t>{0, 1, 2, 3}));
  ASSERT_EQ(report.metrics.size(), 1u);
  EXPECT_EQ(report.metrics[0].name, kFunctionMetric);
  EXPECT_EQ(report.metrics[0].value, 1.5);
  EXPECT_EQ(report.samples, 4u);
}

TEST(ScoreModelsTest, AFunctionNeedsTwoModels) {
  ScoreRequest request = digits_request({});
  request.metric.function = [](size_t, const std::vector<SampleTensor>&, const std::vector<SampleTensor>&) {
    return Result<double>(Status(Code::kBadData, "no idea"));
  };
  EXPECT_NE(score(request).status().message().find("--metric metric: compares two sides, found one"),
            std::string::npos);
  request.baseline = request.results;
  EXPECT_NE(score(request).status().message().find("no idea"), std::string::npos);
  const test::TempFolder folder;
  request.baseline = request.results = folder.path();
  request.data_folder.clear();
  EXPECT_NE(score(request).status().message().find("compares models, found folders"), std::string::npos);
}

TEST(ScoreModelsTest, BytesAreAModel) {
  ScoreRequest request = digits_request({"top1"});
  request.limit = 20;
  const ScoreReport of_file = score(request).value();
  std::ifstream file(request.results, std::ios::binary);
  request.results_bytes = std::string(std::istreambuf_iterator<char>(file), {});
  request.results = "model";
  const ScoreReport of_bytes = score(request).value();
  EXPECT_EQ(of_bytes.metrics[0].value, of_file.metrics[0].value);
}

TEST(ScoreModelsTest, TheCommandGetsAFolderOfItsOwn) {
  ScoreRequest request = digits_request({});
  request.limit = 7;
  request.metric.command = "sh -c 'ls \"$1\"/*.npy | wc -l' sh {results}";
  EXPECT_EQ(score(request).value().metrics[0].value, 7);
  const test::TempFolder folder;
  const std::string place = folder / "place";
  request.metric.command = "sh -c 'printf %s \"$1\" > \"$2\"; echo 1' sh {results} '" + place + "'";
  ASSERT_TRUE(score(request).ok());
  std::ifstream named(place);
  std::string path;
  std::getline(named, path);
  EXPECT_FALSE(path.empty());
  EXPECT_FALSE(std::filesystem::exists(path)) << "the folder is removed afterwards";
}

TEST(ScoreModelsTest, AnInterruptEndsIt) {
  ScoreRequest request = digits_request({"top1"});
  size_t calls = 0;
  request.progress = [&](const Progress&) { return ++calls < 3; };
  EXPECT_EQ(score(request).status().code(), Code::kInterrupted);
  EXPECT_EQ(calls, 3u);
}

TEST(ScoreModelsTest, NamesTheSampleWithoutALabel) {
  const test::TempFolder folder;
  ScoreRequest request = digits_request({"top1"});
  request.metric.truth_path = folder.write("l.csv", "000.npy,2\n");
  const Status status = score(request).status();
  EXPECT_EQ(status.code(), Code::kBadData);
  EXPECT_NE(status.message().find("sample 001: no label in " + request.metric.truth_path), std::string::npos)
      << status.message();
}

}  // namespace
}  // namespace quarkq

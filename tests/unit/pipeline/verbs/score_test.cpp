// SPDX-License-Identifier: MIT
// score(): metrics of folders of results, of one side and of two, and by a command.
#include "quarkq/evaluate.h"

#include <cmath>

#include "unit/pipeline/result_files.h"

namespace quarkq {
namespace {

using test::ResultFiles;

/// Two results of three classes: the baseline says 2 and 0, the other side 2 and 1.
ScoreRequest request_for(const ResultFiles& files, std::vector<std::string> metrics) {
  files.pair<float>("s0", {1, 3}, {1, 2, 3}, {1, 2, 4});
  files.pair<float>("s1", {1, 3}, {5, 2, 3}, {2, 5, 3});
  ScoreRequest request;
  request.baseline = files.folder / "a";
  request.results = files.folder / "b";
  request.metric.names = std::move(metrics);
  request.metric.truth_path = files.folder.write("l.csv", "s0,2\ns1,0\n");
  return request;
}

TEST(ScoreTest, ScoresBothSides) {
  const ResultFiles files;
  const ScoreReport report = score(request_for(files, {"top1", "cosine", "top3"})).value();
  EXPECT_EQ(report.samples, 2u);
  ASSERT_EQ(report.metrics.size(), 3u);
  EXPECT_EQ(report.metrics[0].name, "top1");
  EXPECT_EQ(report.metrics[0].baseline, 1.0);
  EXPECT_EQ(report.metrics[0].value, 0.5);
  EXPECT_FALSE(report.metrics[1].baseline.has_value());
  EXPECT_EQ(report.metrics[2].value, 1.0);
}

TEST(ScoreTest, ComparingMetricsAreThoseOfEvaluate) {
  const ResultFiles files;
  const ScoreReport report = score(request_for(files, {"cosine", "sqnr", "psnr", "ssim", "l2"})).value();
  const EvaluateReport compared = files.evaluate().value();
  const double sqnr = (compared.pairs[0].sqnr_db + compared.pairs[1].sqnr_db) / 2;
  const double expected[] = {compared.mean_cosine, sqnr, compared.mean_psnr, compared.mean_ssim, compared.mean_l2};
  for (size_t i = 0; i < report.metrics.size(); ++i) EXPECT_EQ(report.metrics[i].value, expected[i]) << i;
  EXPECT_TRUE(report.metrics[0].higher_is_better);
  EXPECT_FALSE(report.metrics[4].higher_is_better);
}

TEST(ScoreTest, OneSideIsEnoughForATruth) {
  const ResultFiles files;
  ScoreRequest request = request_for(files, {"top1"});
  request.baseline.clear();
  const ScoreReport report = score(request).value();
  EXPECT_EQ(report.metrics[0].value, 0.5);
  EXPECT_FALSE(report.metrics[0].baseline.has_value());
  request.metric.names = {"top1", "cosine"};
  EXPECT_NE(score(request).status().message().find("compares two sides"), std::string::npos);
}

TEST(ScoreTest, LimitTakesTheFirst) {
  const ResultFiles files;
  ScoreRequest request = request_for(files, {"top1"});
  request.limit = 1;
  EXPECT_EQ(score(request).value().samples, 1u);
  EXPECT_EQ(score(request).value().metrics[0].value, 1.0);
}

TEST(ScoreTest, TheOutputIsAFolder) {
  const ResultFiles files;
  files.save<float>("m", "y_1/s0", {2}, {0, 1});
  files.save<float>("m", "z/s0", {2}, {1, 0});
  ScoreRequest request;
  request.results = files.folder / "m";
  request.metric = {{"top1"}, files.folder.write("l.txt", "1\n"), "y/1"};
  EXPECT_EQ(score(request).value().metrics[0].value, 1.0);
  request.metric.output = "x";
  EXPECT_EQ(score(request).status().code(), Code::kBadData);
}

TEST(ScoreTest, HeadsOfSeveralOutputsReadAFolderOfEach) {
  const ResultFiles files;
  ScoreRequest request;
  request.results = files.folder / "m";
  request.metric.names = {"map50"};
  request.metric.detector.head = "torchvision";
  request.metric.truth_path =
      files.folder.write("t.json", R"({"images": [{"id": 1, "file_name": "a.jpg", "width": 9, "height": 9}],
    "categories": [{"id": 7}], "annotations": [{"image_id": 1, "category_id": 7, "bbox": [1, 2, 3, 4]}]})");
  files.save<float>("m", "boxes/a", {1, 4}, {1, 2, 4, 6});
  files.save<int64_t>("m", "labels/a", {1}, {7});
  files.save<float>("m", "scores/b", {1}, {1});
  EXPECT_NE(score(request).status().message().find("has no a.npy, which another output has"), std::string::npos);
  files.save<float>("m", "scores/a", {1}, {0.5F});
  EXPECT_NEAR(score(request).value().metrics[0].value, 1, 1e-9);
  files.save<float>("flat", "a", {1, 4}, {1, 2, 4, 6});
  request.results = files.folder / "flat";
  EXPECT_NE(score(request).status().message().find("needed is a folder for each"), std::string::npos);
}

TEST(ScoreTest, TheCommandGetsTheFolder) {
  const ResultFiles files;
  ScoreRequest request = request_for(files, {});
  request.metric.command = "sh -c 'ls \"$1\" | wc -l' sh {results}";
  const ScoreReport report = score(request).value();
  ASSERT_EQ(report.metrics.size(), 1u);
  EXPECT_EQ(report.metrics[0].name, kCommandMetric);
  EXPECT_EQ(report.metrics[0].value, 2.0);
  EXPECT_EQ(report.metrics[0].baseline, 2.0);
}

void expect_command_fails(const std::string& command, const std::string& message) {
  const ResultFiles files;
  ScoreRequest request = request_for(files, {});
  request.metric.command = command;
  const Status status = score(request).status();
  EXPECT_EQ(status.code(), Code::kBadData) << command;
  EXPECT_EQ(status.message(), message);
}

TEST(ScoreTest, AFailingCommandIsAnError) {
  expect_command_fails("sh -c 'echo 0.5; echo bad model >&2; exit 1'",
                       "--metric-cmd: sh: ended with exit code 1; it printed: bad model");
  for (const char* text : {"", "nan", "inf", "0.5 0.6", "score 0.5", "0.5x"}) {
    expect_command_fails(cat("printf '%s' '", text, "'"), cat("--metric-cmd: printf: printed \"", text,
                                                              "\", allowed is one finite number and nothing else"));
  }
}

TEST(ScoreTest, RefusesWhatDoesNotFit) {
  const ResultFiles files;
  const ScoreRequest good = request_for(files, {"top1"});
  const auto refused = [&](auto change, const std::string& part) {
    ScoreRequest request = good;
    change(request);
    const Status status = score(request).status();
    EXPECT_EQ(status.code(), Code::kInvalidArgument) << part;
    EXPECT_NE(status.message().find(part), std::string::npos) << status.message();
  };
  refused([](ScoreRequest& r) { r.metric.names.clear(); }, "found none");
  refused([](ScoreRequest& r) { r.metric.truth_path.clear(); }, "needs --labels");
  refused([](ScoreRequest& r) { r.results = "m.onnx"; }, "two models or two folders");
  refused([](ScoreRequest& r) { r.data_folder = "d"; }, "needs a model");
  refused([](ScoreRequest& r) { r.baseline.clear(), r.results = "m.onnx"; }, "needs --data");
  refused([](ScoreRequest& r) { r.results.clear(); }, "a model or a folder");
}

TEST(ScoreTest, JsonHasNoNaN) {
  ScoreReport report;
  report.samples = 2;
  report.metrics = {{"top1", "share", true, 0.5, 0.25}, {"ssim", "", true, std::nullopt, std::nan("")}};
  const std::string json = to_json(report);
  EXPECT_NE(json.find("\"baseline\": 0.5"), std::string::npos);
  EXPECT_NE(json.find("\"value\": null"), std::string::npos);
  EXPECT_NE(json.find("\"better\": \"higher\""), std::string::npos);
}

}  // namespace
}  // namespace quarkq

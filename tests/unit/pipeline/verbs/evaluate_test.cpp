// SPDX-License-Identifier: MIT
// evaluate(): recorded numbers of the reference in compat mode, definitions by default, and folders that do not fit.
#include "quarkq/evaluate.h"

#include <cmath>

#include "unit/numeric/golden_calibration.h"
#include "unit/pipeline/result_files.h"

namespace quarkq {
namespace {

using test::ResultFiles;

/// Relative 1e-5, as ref:evaluation#output asks.
void expect_close(double found, const std::string& wanted, const std::string& what) {
  const double number = std::stod(wanted);
  if (std::isnan(number)) {
    EXPECT_TRUE(std::isnan(found)) << what;
    return;
  }
  EXPECT_NEAR(found, number, 1e-5 * std::abs(number)) << what;
}

/// The recorded cases are made by rule (key `inputs` of the golden's evaluate section).
struct RecordedCase {
  std::vector<float> baseline, quantized;
};

RecordedCase rounded_to_sixteenths(std::vector<float> values) {
  RecordedCase made{values, values};
  for (float& value : made.quantized) value = std::nearbyint(value * 16) / 16;
  return made;
}

RecordedCase recorded_case(const std::string& name) {
  if (name == "v32") return rounded_to_sixteenths(test::generated(11, 32));
  if (name == "m8x8") return rounded_to_sixteenths(test::generated(12, 64));
  if (name == "c6x7x3") return rounded_to_sixteenths(test::generated(13, 126));
  if (name == "zero") return {std::vector<float>(8, 0.0f), std::vector<float>(8, 0.03125f)};
  if (name == "same") return {test::generated(15, 32), test::generated(15, 32)};
  std::vector<float> negative = test::generated(14, 32);
  for (float& value : negative) value = -std::abs(value) - 1;
  return rounded_to_sixteenths(negative);
}

void save_recorded_image(const ResultFiles& files, const ir::Shape& dims) {
  std::vector<uint8_t> baseline, quantized;
  for (const float value : test::generated(16, 360)) {
    baseline.push_back(static_cast<uint8_t>(std::clamp(value * 40 + 128, 0.0f, 255.0f)));
    quantized.push_back(static_cast<uint8_t>(baseline.back() / 4 * 4));
  }
  files.pair("u8img", dims, baseline, quantized);
}

TEST(EvaluateTest, CompatGivesTheRecordedNumbers) {
  QQ_SKIP_WITHOUT_GOLDEN();
  for (const auto& [name, wanted] : test::golden_calibration()["evaluate"]["cases"].items()) {
    const ResultFiles files;
    const auto dims = wanted["shape"].get<ir::Shape>();
    if (name == "u8img") {
      save_recorded_image(files, dims);
    } else {
      const RecordedCase made = recorded_case(name);
      files.pair(name, dims, made.baseline, made.quantized);
    }
    const PairMetrics found = files.metrics(/*compat=*/true);
    expect_close(found.cosine, wanted["cos"], name + " cos");
    expect_close(found.l2, wanted["l2"], name + " l2");
    expect_close(found.psnr, wanted["psnr"], name + " psnr");
    expect_close(found.ssim, wanted["ssim_windowed"], name + " ssim");
  }
}

TEST(EvaluateTest, CompatGivesTheRecordedAggregates) {
  QQ_SKIP_WITHOUT_GOLDEN();
  const ResultFiles files;
  for (const auto& [name, dims] : {std::pair{"v32", ir::Shape{1, 32}}, {"m8x8", {8, 8}}, {"same", {4, 8}}}) {
    const RecordedCase made = recorded_case(name);
    files.pair(name, dims, made.baseline, made.quantized);
  }
  const EvaluateReport report = files.evaluate(/*compat=*/true).value();
  const double found[] = {report.mean_cosine, report.min_cosine, report.mean_l2,   report.max_l2,
                          report.mean_psnr,   report.min_psnr,   report.mean_ssim, report.min_ssim};
  const test::Json& lines = test::golden_calibration()["evaluate"]["stdout_npy_v32_m8x8_same"];
  ASSERT_EQ(lines.size(), 8u);
  for (size_t i = 0; i < 8; ++i) {
    const std::string line = lines[i];
    expect_close(found[i], line.substr(line.find(": ") + 2), line);
  }
}

TEST(EvaluateTest, EqualArraysArePerfect) {
  const ResultFiles files;
  const std::vector<float> values = test::generated(4, 48);
  files.pair("x", {2, 4, 6}, values, values);
  const PairMetrics found = files.metrics();
  EXPECT_EQ(found.file, "x.npy");
  EXPECT_EQ(found.cosine, 1.0);
  EXPECT_EQ(found.l2, 0.0);
  EXPECT_EQ(found.ssim, 1.0);
  EXPECT_GT(found.psnr, 90);
  EXPECT_TRUE(std::isfinite(found.psnr));
}

TEST(EvaluateTest, ZeroNormsHaveACosine) {
  const ResultFiles both, one;
  both.pair<float>("x", {3}, {0, 0, 0}, {0, 0, 0});
  one.pair<float>("x", {3}, {0, 0, 0}, {0, 1, 0});
  EXPECT_EQ(both.metrics().cosine, 1.0);
  EXPECT_EQ(one.metrics().cosine, 0.0);
  EXPECT_TRUE(std::isnan(one.metrics(/*compat=*/true).cosine));
}

TEST(EvaluateTest, PeakIsAMagnitudeByDefault) {
  const ResultFiles files;
  files.pair<float>("x", {4}, {-8, -2, -1, -4}, {-8, -2, -1, -3});
  // mean squared error 1/4
  EXPECT_NEAR(files.metrics().psnr, 20 * std::log10(8.0) - 10 * std::log10(0.25), 1e-9);
  EXPECT_NEAR(files.metrics(/*compat=*/true).psnr, -200 - 10 * std::log10(0.25), 1e-4);
}

TEST(EvaluateTest, CompatLetsNanMakeItsAggregatesNan) {
  const ResultFiles files;
  files.pair<float>("0", {2}, {1, 2}, {1, 2});
  files.pair<float>("1", {2}, {1, NAN}, {1, 2});
  const EvaluateReport report = files.evaluate(/*compat=*/true).value();
  for (const double value :
       {report.mean_cosine, report.min_cosine, report.mean_l2, report.max_l2, report.min_psnr, report.mean_ssim}) {
    EXPECT_TRUE(std::isnan(value));
  }
  EXPECT_NE(to_json(report).find("\"min_cosine\": null"), std::string::npos);
}

TEST(EvaluateTest, NanAndInfinitiesAreCounted) {
  const ResultFiles files;
  files.pair<float>("0", {3}, {1, NAN, 2}, {1, NAN, 2});
  files.pair<float>("1", {2}, {1, INFINITY}, {1, 2});
  const EvaluateReport report = files.evaluate().value();
  EXPECT_EQ(report.pairs[0].same_not_finite, 1u);
  EXPECT_EQ(report.pairs[0].cosine, 1.0);
  EXPECT_EQ(report.pairs[1].different_not_finite, 1u);
  EXPECT_EQ(report.min_cosine, 0.5);
  EXPECT_TRUE(std::isfinite(report.pairs[0].psnr) && std::isfinite(report.pairs[0].ssim));
  EXPECT_TRUE(std::isnan(report.pairs[1].psnr) && std::isnan(report.pairs[1].l2));
  ASSERT_EQ(report.findings.size(), 1u);
  EXPECT_EQ(report.findings[0].id, "output-not-finite");
}

TEST(EvaluateTest, EveryNumericTypeIsCompared) {
  const ResultFiles files;
  files.pair<int64_t>("i64", {2}, {3, 4}, {3, 5});
  files.pair<double>("f64", {2}, {3, 4}, {3, 5});
  files.save<float>("a", "mixed", {2}, {3, 4});
  files.save<int8_t>("b", "mixed", {2}, {3, 5});
  const EvaluateReport report = files.evaluate().value();
  for (const PairMetrics& pair : report.pairs) EXPECT_EQ(pair.l2, 1.0) << pair.file;
}

TEST(EvaluateTest, PairsByNameInNaturalOrder) {
  const ResultFiles files;
  for (const char* name : {"s10", "s9", "s1"}) files.pair<float>(name, {1}, {1}, {1});
  files.save<float>("b", "extra", {1}, {1});  // only the quantized side has it: ignored
  const EvaluateReport report = files.evaluate().value();
  ASSERT_EQ(report.pairs.size(), 3u);
  EXPECT_EQ(report.pairs[0].file, "s1.npy");
  EXPECT_EQ(report.pairs[1].file, "s9.npy");
  EXPECT_EQ(report.pairs[2].file, "s10.npy");
}

TEST(EvaluateTest, SeveralOutputsArePairedOneFolderDeeper) {
  const ResultFiles files;
  files.pair<float>("scores/0", {2}, {1, 2}, {1, 2});
  files.pair<float>("boxes/0", {1}, {1}, {3});
  const EvaluateReport report = files.evaluate().value();
  ASSERT_EQ(report.pairs.size(), 2u);
  EXPECT_EQ(report.pairs[0].file, "boxes/0.npy");
  EXPECT_EQ(report.max_l2, 2.0);
}

void expect_refused(const ResultFiles& files, const std::vector<std::string>& parts) {
  const Result<EvaluateReport> report = files.evaluate();
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.status().code(), Code::kBadData);
  for (const std::string& part : parts)
    EXPECT_NE(report.status().message().find(part), std::string::npos) << report.status().message();
}

TEST(EvaluateTest, RefusesFoldersThatDoNotFit) {
  const ResultFiles none, missing_file, shapes, empty_array, broken;
  expect_refused(none, {"/a: no such folder"});
  missing_file.folder.write("a/readme.txt", "");
  expect_refused(missing_file, {"/b: no such folder"});
  missing_file.folder.write("b/readme.txt", "");
  expect_refused(missing_file, {"/a: no results"});
  missing_file.save<float>("a", "only", {1}, {1});
  expect_refused(missing_file, {"b/only.npy: no such file"});
  shapes.save<float>("a", "x", {2, 3}, std::vector<float>(6));
  shapes.save<float>("b", "x", {3, 2}, std::vector<float>(6));
  expect_refused(shapes, {"b/x.npy: shape [3,2]", "[2,3]"});
  empty_array.pair<float>("x", {0}, {}, {});
  expect_refused(empty_array, {"a/x.npy: contains no values"});
  broken.pair<float>("x", {1}, {1}, {1});
  broken.folder.write("b/x.npy", "no numpy");
  expect_refused(broken, {"b/x.npy: not a .npy file"});
}

TEST(EvaluateTest, JsonHasAggregatesAndPairs) {
  const ResultFiles files;
  files.pair<float>("0", {2}, {1, 2}, {1, 3});
  const test::Json json = test::Json::parse(to_json(files.evaluate().value()));
  EXPECT_EQ(json["count"], 1);
  EXPECT_EQ(json["max_l2"], 1.0);
  EXPECT_EQ(json["pairs"][0]["file"], "0.npy");
  EXPECT_EQ(json["pairs"][0]["l2"], 1.0);
}

}  // namespace
}  // namespace quarkq

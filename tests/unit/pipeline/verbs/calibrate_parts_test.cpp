// SPDX-License-Identifier: MIT
// calibrate(), its forecast and merge_statistics() as an embedder calls them: parts that cover the samples, what is
// refused, and figures that hold.
#include "quarkq/analyze.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "base/file_system.h"
#include "quarkq/quantize.h"
#include "unit/base/temp_folder.h"

namespace quarkq {
namespace {

class CalibratePartsTest : public ::testing::Test {
 protected:
  CalibrateRequest request(const std::string& output, Shard shard = {}) {
    CalibrateRequest made;
    made.model_path = example_ + "digits.onnx";
    made.calib_folder = example_ + "calib";
    made.config = "A8W8";
    made.output_path = folder_ / output;
    made.shard = shard;
    return made;
  }
  std::string bytes(const std::string& name) { return read_text_file(folder_ / name).value(); }

  test::TempFolder folder_;
  std::string example_ = std::string(QUARKQ_SOURCE_DIR) + "/examples/digits/";
};

TEST_F(CalibratePartsTest, PartsInAnyOrderAreTheWhole) {
  const Result<CalibrateReport> whole = calibrate(request("all.stats"));
  ASSERT_TRUE(whole.ok()) << whole.status().message();
  EXPECT_EQ(whole.value().samples, whole.value().total_samples);
  MergeRequest merge;
  uint64_t samples = 0, values = 0;
  for (const uint64_t index : {3u, 1u, 2u}) {  // 3 of 3 is part 0
    const Result<CalibrateReport> part = calibrate(request(cat(index, ".stats"), {index, 3}));
    ASSERT_TRUE(part.ok()) << part.status().message();
    EXPECT_EQ(part.value().total_samples, whole.value().total_samples);
    EXPECT_EQ(part.value().bytes, bytes(cat(index, ".stats")).size());
    samples += part.value().samples;
    values += part.value().values;
    merge.parts.push_back(part.value().output_path);
  }
  EXPECT_EQ(samples, whole.value().samples);
  EXPECT_EQ(values, whole.value().values);
  merge.output_path = folder_ / "merged.stats";
  const Result<CalibrateReport> merged = merge_statistics(merge);
  ASSERT_TRUE(merged.ok()) << merged.status().message();
  EXPECT_EQ(bytes("merged.stats"), bytes("all.stats"));
  merge.parts.push_back(merge.parts.front());
  const Status twice = merge_statistics(merge).status();
  EXPECT_EQ(twice.code(), Code::kBadData);
  EXPECT_NE(twice.message().find("3.stats"), std::string::npos) << twice.message();
}

TEST_F(CalibratePartsTest, ThreadsDoNotShow) {
  CalibrateRequest one = request("one.stats"), four = request("four.stats");
  one.threads = 1;
  four.threads = 4;
  ASSERT_TRUE(calibrate(one).ok() && calibrate(four).ok());
  EXPECT_EQ(bytes("one.stats"), bytes("four.stats"));
}

TEST_F(CalibratePartsTest, RefusalsLeaveNoFile) {
  const auto refused = [&](CalibrateRequest made, Code code, const std::string& said) {
    std::vector<Finding> findings;
    made.on_failure = [&](const std::vector<Finding>& found) { findings = found; };
    const Status status = calibrate(made).status();
    EXPECT_EQ(status.code(), code) << status.message();
    EXPECT_NE(status.message().find(said), std::string::npos) << status.message();
    EXPECT_FALSE(std::filesystem::exists(made.output_path)) << said;
  };
  refused(request("a", {99999, 100000}), Code::kBadData,
          "shard 99999/100000: has no sample, the number of samples is ");
  CalibrateRequest no_samples = request("b");
  no_samples.calib_folder.clear();
  refused(no_samples, Code::kBadData, "calibration samples are needed: pass --calib DIR");
  CalibrateRequest compat = request("c");
  compat.settings = {"quarkq.compat=quark-0.13"};
  refused(compat, Code::kInvalidArgument, "--compat: the reference's histograms depend on the order of the samples");
  CalibrateRequest stopped = request("d");
  stopped.progress = [](const Progress& progress) { return progress.done < 2; };
  refused(stopped, Code::kInterrupted, "");
  const Status nothing = merge_statistics({{}, folder_ / "e", false}).status();
  EXPECT_EQ(nothing.code(), Code::kInvalidArgument);
  EXPECT_EQ(nothing.message(), "merge: found no parts, at least one is needed");
}

TEST_F(CalibratePartsTest, AForecastWritesNothingAndComesClose) {
  const CalibrateRequest asked = request("f.stats");
  const Result<Forecast> forecasted = forecast(asked);
  ASSERT_TRUE(forecasted.ok()) << forecasted.status().message();
  EXPECT_FALSE(std::filesystem::exists(asked.output_path));
  EXPECT_LT(forecasted.value().tried_samples, forecasted.value().samples);
  const Result<CalibrateReport> made = calibrate(asked);
  ASSERT_TRUE(made.ok()) << made.status().message();
  EXPECT_EQ(forecasted.value().samples, made.value().samples);
  const double ratio = static_cast<double>(forecasted.value().output_bytes) / static_cast<double>(made.value().bytes);
  EXPECT_GT(ratio, 0.5);
  EXPECT_LT(ratio, 2.0);
}

TEST_F(CalibratePartsTest, StatisticsStandForTheSamplesTheyWereMadeOf) {
  ASSERT_TRUE(calibrate(request("s.stats")).ok());
  QuantizeRequest from_samples;
  from_samples.model_path = example_ + "digits.onnx";
  from_samples.config = "A8W8";
  from_samples.calib_folder = example_ + "calib";
  from_samples.output_path = folder_ / "samples.onnx";
  QuantizeRequest from_file = from_samples;
  from_file.calib_folder.clear();
  from_file.statistics_path = folder_ / "s.stats";
  from_file.output_path = folder_ / "file.onnx";
  for (QuantizeRequest* one : {&from_samples, &from_file}) {
    one->settings = {"quarkq.on_collapse=warn", "quarkq.rounding=nearest"};
    const Result<QuantizeReport> done = quantize(*one);
    ASSERT_TRUE(done.ok()) << done.status().message();
  }
  EXPECT_EQ(bytes("samples.onnx"), bytes("file.onnx"));
  ASSERT_TRUE(calibrate(request("half.stats", {0, 2})).ok());
  from_file.statistics_path = folder_ / "half.stats";
  const Status missing = quantize(from_file).status();
  EXPECT_EQ(missing.code(), Code::kBadData);
  EXPECT_NE(missing.message().find("half.stats"), std::string::npos) << missing.message();
}

}  // namespace
}  // namespace quarkq

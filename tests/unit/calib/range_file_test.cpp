// SPDX-License-Identifier: MIT
#include "calib/range_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace quarkq::calib {
namespace {

using config::CalibrateMethod;

std::string path() {
  return (std::filesystem::temp_directory_path() / ("quarkq-ranges-" + std::to_string(::getpid()) + ".json")).string();
}

Result<NamedRanges> load_text(const std::string& text) {
  std::ofstream(path()) << text;
  return load_ranges(path());
}

TEST(RangeFileTest, ReadsBackWhatWasWritten) {
  const NamedRanges ranges = {{"a", {-1.1f, 2.25f}}, {"b/c:0", {0.0f, 1e-30f}}};
  for (const CalibrateMethod method : {CalibrateMethod::kMinMax, CalibrateMethod::kPercentile}) {
    ASSERT_TRUE(save_ranges(path(), ranges, method).ok());
    EXPECT_EQ(load_ranges(path()).value(), ranges);
  }
  std::filesystem::remove(path());
}

TEST(RangeFileTest, TakesBothFormsOfTheReference) {
  const auto ranges = load_text(
      R"({"quark_version": "0.13", "tensors_range": {"x": [[-1.5], [2]], "y": [0, 3.25]}, "model_to_finetune": ""})");
  ASSERT_TRUE(ranges.ok()) << ranges.status().message();
  EXPECT_EQ(ranges.value(), (NamedRanges{{"x", {-1.5f, 2.0f}}, {"y", {0.0f, 3.25f}}}));
}

TEST(RangeFileTest, RefusesWhatIsNoRangeFile) {
  for (const char* text : {"", "[]", "{}", R"({"tensors_range": []})", R"({"tensors_range": {"x": [1]}})",
                           R"({"tensors_range": {"x": ["a", "b"]}})", R"({"tensors_range": {"x": [[1, 2], [3]]}})",
                           R"({"tensors_range": {"x": [3, 1]}})", R"({"tensors_range": {"x": [null, 1]}})",
                           R"({"tensors_range": {"x": [1, 2, 3]}})", R"({"tensors_range": {"x": [0, 1e39]}})", R"({"tensors_range": {"x": {"0": 1, "1": 2}}})"}) {
    const auto ranges = load_text(text);
    ASSERT_FALSE(ranges.ok()) << text;
    EXPECT_EQ(ranges.status().code(), Code::kBadData);
    EXPECT_NE(ranges.status().message().find(path()), std::string::npos) << ranges.status().message();
  }
  const std::string deep = R"({"tensors_range": {"x": )" + std::string(100'000, '[') + std::string(100'000, ']') + "}}";
  EXPECT_EQ(load_text(deep).status().code(), Code::kBadData);
  std::filesystem::remove(path());
  EXPECT_EQ(load_ranges(path()).status().code(), Code::kBadData);
}

}  // namespace
}  // namespace quarkq::calib

// SPDX-License-Identifier: MIT
#include "calib/statistics_set.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <random>

#include "base/file_system.h"
#include "base/hash.h"

namespace quarkq::calib {
namespace {

class StatisticsFileTest : public testing::Test {
 protected:
  StatisticsFileTest()
      : folder_(std::filesystem::temp_directory_path() / ("quarkq-stats-" + std::to_string(::getpid()))) {
    std::filesystem::create_directories(folder_);
  }
  ~StatisticsFileTest() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  std::string bytes(const std::string& name) const { return read_text_file(path(name)).value(); }

 private:
  std::filesystem::path folder_;
};

StatisticsOrigin some_origin(uint64_t samples) {
  StatisticsOrigin origin;
  origin.version = "1";
  origin.model = "aaaaaaaaaaaaaaaa";
  origin.graph = "bbbbbbbbbbbbbbbb";
  origin.preprocess = "{color: RGB}";
  origin.settings = {{"calibrate_method", "CalibrationMethod.MinMax"}, {"preset", "A8W8"}};
  origin.isa = {"avx2"};
  origin.samples = samples;
  return origin;
}

/// Statistics of the samples named by `numbers`, of ten.
StatisticsSet some_set(const std::vector<uint64_t>& numbers) {
  StatisticsSet set;
  set.origin = some_origin(10);
  for (const char* name : {"conv_out", "relu/out:0"}) {
    ValueStatistics statistics(/*with_bins=*/true);
    for (const uint64_t number : numbers) {
      std::mt19937 generator(static_cast<uint32_t>(number));
      std::normal_distribution<float> normal;
      std::vector<float> values(300 + number);
      for (float& x : values) x = normal(generator);
      if (number == 4) values[3] = NAN;
      statistics.add(values.data(), static_cast<int64_t>(values.size()), number);
      statistics.votes[static_cast<int>(number) % 3 - 1] += 1;
    }
    set.tensors.emplace(name, std::move(statistics));
  }
  for (const uint64_t number : numbers) set.samples[number] = "sample_" + std::to_string(number);
  return set;
}

TEST_F(StatisticsFileTest, ReadsBackWhatWasWritten) {
  const StatisticsSet set = some_set({0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
  ASSERT_TRUE(save_statistics(path("a"), set).ok());
  const Result<StatisticsSet> back = load_statistics(path("a"));
  ASSERT_TRUE(back.ok()) << back.status().message();
  EXPECT_EQ(back.value().origin, set.origin);
  EXPECT_EQ(back.value().samples, set.samples);
  for (const auto& [name, seen] : set.tensors) {
    const ValueStatistics& other = back.value().tensors.at(name);
    EXPECT_EQ(other.records(), seen.records());
    EXPECT_EQ(other.bin_counts(), seen.bin_counts());
    EXPECT_EQ(other.votes, seen.votes);
  }
  EXPECT_TRUE(check_complete(back.value(), "a").ok());
}

TEST_F(StatisticsFileTest, AnyPartitionMergesToTheSameBytes) {
  ASSERT_TRUE(save_statistics(path("whole"), some_set({0, 1, 2, 3, 4, 5, 6, 7, 8, 9})).ok());
  const std::vector<std::vector<std::vector<uint64_t>>> partitions = {
      {{0, 3, 6, 9}, {1, 4, 7}, {2, 5, 8}}, {{5, 6, 7, 8, 9}, {0, 1, 2, 3, 4}}, {{9}, {1, 2, 3, 4, 5, 6, 7, 8}, {0}}};
  for (const auto& partition : partitions) {
    StatisticsSet all = some_set(partition[0]);
    for (size_t i = 1; i < partition.size(); ++i) {
      const Status merged = merge_statistics(all, some_set(partition[i]), "part", false);
      ASSERT_TRUE(merged.ok()) << merged.message();
    }
    ASSERT_TRUE(save_statistics(path("merged"), all).ok());
    EXPECT_EQ(bytes("merged"), bytes("whole"));
  }
}

TEST_F(StatisticsFileTest, ForeignPartsAreRefusedWithTheDifference) {
  const struct {
    const char* wanted;
    void (*change)(StatisticsSet&);
  } cases[] = {
      {"another model", [](StatisticsSet& s) { s.origin.model = "cccc"; }},
      {"preprocess block ({color: BGR} there, {color: RGB} here)",
       [](StatisticsSet& s) { s.origin.preprocess = "{color: BGR}"; }},
      {"preset: XINT8 there, A8W8 here", [](StatisticsSet& s) { s.origin.settings["preset"] = "XINT8"; }},
      {"include_cle: true there, not set here", [](StatisticsSet& s) { s.origin.settings["include_cle"] = "true"; }},
      {"another form of the model", [](StatisticsSet& s) { s.origin.graph = "cccc"; }},
      {"data of 11 samples, the other parts of 10", [](StatisticsSet& s) { s.origin.samples = 11; }},
      {"made by quarkq 2", [](StatisticsSet& s) { s.origin.version = "2"; }},
      {"instruction set avx512, this run uses avx2", [](StatisticsSet& s) { s.origin.isa = {"avx512"}; }},
      {"sample 1 (sample_1) is in another part already", [](StatisticsSet& s) { s.samples[1] = "sample_1"; }},
      {"holds 1 tensors, the other parts 2", [](StatisticsSet& s) { s.tensors.erase("conv_out"); }},
  };
  for (const auto& item : cases) {
    StatisticsSet all = some_set({0, 1}), part = some_set({2});
    item.change(part);
    const Status status = merge_statistics(all, part, "part.stats", false);
    EXPECT_EQ(status.code(), Code::kBadData) << item.wanted;
    EXPECT_NE(status.message().find(item.wanted), std::string::npos) << status.message();
    EXPECT_EQ(status.message().find("part.stats: "), 0u) << status.message();
  }
}

TEST_F(StatisticsFileTest, OtherInstructionSetsMergeWhenAsked) {
  StatisticsSet all = some_set({0, 1}), part = some_set({2});
  part.origin.isa = {"avx512"};
  ASSERT_TRUE(merge_statistics(all, part, "part", /*allow_other_isa=*/true).ok());
  EXPECT_EQ(all.origin.isa, (std::set<std::string>{"avx2", "avx512"}));
}

TEST_F(StatisticsFileTest, SettingsThatLeaveTheGraphAloneMayDifferInTheRun) {
  StatisticsOrigin theirs = some_origin(10), ours = some_origin(0);
  ours.settings["calibrate_method"] = "CalibrationMethod.Percentile";
  EXPECT_EQ(run_difference(theirs, ours, false), "");
  ours.graph = "other";
  EXPECT_NE(run_difference(theirs, ours, false).find("calibrate_method"), std::string::npos);
}

TEST_F(StatisticsFileTest, MissingSamplesAreNamed) {
  const Status status = check_complete(some_set({0, 1, 2, 4}), "all.stats");
  EXPECT_EQ(status.code(), Code::kBadData);
  EXPECT_NE(status.message().find("covers 4 of 10 samples (missing: 3, 5, 6, 7, 8, ...)"), std::string::npos)
      << status.message();
}

TEST_F(StatisticsFileTest, DamagedFilesAreRefused) {
  ASSERT_TRUE(save_statistics(path("good"), some_set({0, 1, 2})).ok());
  const std::string good = bytes("good");
  auto parse = [](const std::string& text) {
    return parse_statistics(reinterpret_cast<const std::byte*>(text.data()), text.size(), "x.stats").status();
  };
  EXPECT_TRUE(parse(good).ok());
  EXPECT_NE(parse("").message().find("not a quarkq statistics file"), std::string::npos);
  EXPECT_NE(parse("hello world, this is text").message().find("not a quarkq"), std::string::npos);
  for (size_t size = 8; size < good.size(); size += 97) EXPECT_EQ(parse(good.substr(0, size)).code(), Code::kBadData);
  // With a hash that fits, the content itself must hold.
  std::mt19937 generator(1);
  for (int round = 0; round < 3000; ++round) {
    std::string bad = good.substr(0, good.size() - 32);
    for (uint32_t i = 0; i < 1 + generator() % 3; ++i)
      bad[8 + generator() % (bad.size() - 8)] = static_cast<char>(generator());
    ContentHash hash;
    hash.add(bad.data(), bad.size());
    const Status status = parse(bad + hash.text());
    EXPECT_TRUE(status.ok() || status.code() == Code::kBadData);
  }
}

}  // namespace
}  // namespace quarkq::calib

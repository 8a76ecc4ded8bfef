// SPDX-License-Identifier: MIT
// The cache of what candidates of mixed precision scored: written, read again, edited by users.
#include "config/mixed_precision.h"

#include <gtest/gtest.h>

#include <limits>

#include "../base/temp_folder.h"
#include "base/file_system.h"

namespace quarkq::config {
namespace {

SensitivityCache cache_of(const std::string& path) {
  Result<std::optional<SensitivityCache>> cache = load_sensitivity(path);
  EXPECT_TRUE(cache.ok()) << cache.status().message();
  EXPECT_TRUE(!cache.ok() || cache.value().has_value());
  return cache.ok() ? cache.value().value_or(SensitivityCache()) : SensitivityCache();
}

TEST(SensitivityFileTest, NoFileIsNoCache) {
  const test::TempFolder folder;
  const auto cache = load_sensitivity(folder / "none.json");
  ASSERT_TRUE(cache.ok());
  EXPECT_FALSE(cache.value().has_value());
}

TEST(SensitivityFileTest, WhatIsWrittenIsReadAgain) {
  const test::TempFolder folder;
  const std::string path = folder / "cache.json";
  constexpr double kSmall = 1.0 / 3, kLeast = std::numeric_limits<double>::min();
  const SensitivityCache written{"key: \"of\" this run",
                                 {{"/conv1/Conv", {"/conv1/Conv"}, {kSmall, 2, kLeast}, 2, true},
                                  {"group \xC3\xA9", {"a", "b\n", ""}, {-1.5}, 0, false}}};
  ASSERT_TRUE(save_sensitivity(path, written).ok());
  const SensitivityCache found = cache_of(path);
  EXPECT_EQ(found.key, written.key);
  ASSERT_EQ(found.candidates.size(), written.candidates.size());
  for (size_t i = 0; i < found.candidates.size(); ++i) {
    const RankedCandidate &one = found.candidates[i], &wanted = written.candidates[i];
    EXPECT_EQ(one.name, wanted.name);
    EXPECT_EQ(one.nodes, wanted.nodes);
    EXPECT_EQ(one.scores, wanted.scores);
    EXPECT_EQ(one.config, wanted.config);
    EXPECT_EQ(one.enabled, wanted.enabled);
  }
  const std::string text = read_text_file(path).value();
  ASSERT_TRUE(save_sensitivity(path, found).ok());
  EXPECT_EQ(read_text_file(path).value(), text);
}

TEST(SensitivityFileTest, AFileOfTheReferenceIsReadWithItsKey) {
  const test::TempFolder folder;
  const std::string path = folder.write("cache.json", R"({"version": "0.13", "timestamp": "2026", "cache_key": "k",
    "results": [{"name": "n", "candidate_nodes": ["n"], "score": 1, "all_config_scores": [2, 1], "best_config_index": 1,
                 "enabled": false, "extra": {"a": 1}}]})");
  const SensitivityCache cache = cache_of(path);
  EXPECT_EQ(cache.key, "k");
  ASSERT_EQ(cache.candidates.size(), 1U);
  EXPECT_EQ(cache.candidates[0].config, 1U);
  EXPECT_FALSE(cache.candidates[0].enabled);
}

TEST(SensitivityFileTest, RefusesWhatIsNoSuchFile) {
  const auto result_of = [](const std::string& fields) { return R"({"results": [{"name": "n", )" + fields + "}]}"; };
  const struct {
    std::string text, said;
  } rows[] = {
      {"[]", "needs results, a list"},
      {"{}", "needs results, a list"},
      {R"({"results": {}})", "needs results, a list"},
      {R"({"results": [3]})", "a map with name and all_config_scores"},
      {result_of(R"("all_config_scores": [1, 2], "best_config_index": 2)"), "best_config_index: found 2 of 2"},
      {result_of(R"("all_config_scores": [1, 2], "best_config_index": -1)"), "best_config_index: found -1 of 2"},
      {result_of(R"("best_config_index": 0)"), "best_config_index: found 0 of 0"},
      {result_of(R"("all_config_scores": ["low"])"), "all_config_scores"},
      {result_of(R"("all_config_scores": [1], "enabled": "perhaps")"), "enabled"},
      {"{", "cache.json"}};
  for (const auto& row : rows) {
    const test::TempFolder folder;
    const auto cache = load_sensitivity(folder.write("cache.json", row.text));
    ASSERT_FALSE(cache.ok()) << row.text;
    EXPECT_EQ(cache.status().code(), Code::kInvalidArgument) << row.text;
    const std::string said = cache.status().message();
    EXPECT_NE(said.find(row.said), std::string::npos) << row.text << ": " << said;
    EXPECT_NE(said.find("cache.json"), std::string::npos) << row.text << ": " << said;
  }
}

}  // namespace
}  // namespace quarkq::config

// SPDX-License-Identifier: MIT
#include "tuning/ladder.h"

#include <gtest/gtest.h>

namespace quarkq::tuning {
namespace {

using config::Node;
using config::SearchChoice;
using config::SearchFile;

SearchChoice choice(const std::string& key, const std::vector<Node>& values, bool is_training = false) {
  SearchChoice made;
  made.key = key, made.values = values, made.is_training = is_training;
  return made;
}

SearchFile file_of(std::vector<SearchChoice> choices) {
  SearchFile file;
  file.form = SearchFile::Form::kFields, file.is_grid = true, file.trials = 100;
  file.choices = std::move(choices);
  return file;
}

const std::vector<SearchChoice> kChoices = {choice("per_channel", {Node(false), Node(true)}),
                                            choice("include_cle", {Node(false), Node(true)}),
                                            choice("include_fast_ft", {Node(true), Node(false)}, true)};

TEST(SearchLadderTest, OneStageTriesAllCombinations) {
  Diagnostics diagnostics;
  const std::vector<Rung> rungs = search_ladder(file_of(kChoices), {}, diagnostics).value();
  ASSERT_EQ(rungs.size(), 1U);
  const auto trials = rungs[0].candidates({});
  ASSERT_EQ(trials.size(), 8U);
  EXPECT_EQ(trials[1].settings, (SettingList{"quarkq.on_collapse=warn", "per_channel=false", "include_cle=false",
                                             "include_fast_ft=false"}));
  EXPECT_EQ(trials[1].name, "search: per_channel=false, include_cle=false, include_fast_ft=false");
  EXPECT_TRUE(diagnostics.all().empty());
}

TEST(SearchLadderTest, TheSecondStageTrainsTheBestOfTheFirst) {
  SearchFile file = file_of(kChoices);
  file.has_two_stages = true;
  Diagnostics diagnostics;
  const std::vector<Rung> rungs = search_ladder(file, {}, diagnostics).value();
  ASSERT_EQ(rungs.size(), 2U);
  EXPECT_EQ(rungs[0].candidates({}).size(), 4U);
  Trial best;
  best.settings = {"quarkq.on_collapse=warn", "per_channel=true", "include_cle=false"};
  const auto trials = rungs[1].candidates({.best = &best});
  ASSERT_EQ(trials.size(), 2U);
  EXPECT_EQ(trials[0].settings,
            (SettingList{"quarkq.on_collapse=warn", "per_channel=true", "include_cle=false", "include_fast_ft=true"}));
}

TEST(SearchLadderTest, KeysOfTheUserAreTakenOutOfTrials) {
  Diagnostics diagnostics;
  const auto trials = search_ladder(file_of(kChoices), {"include_cle=true"}, diagnostics).value()[0].candidates({});
  ASSERT_EQ(trials.size(), 4U);
  EXPECT_EQ(trials[0].settings, (SettingList{"quarkq.on_collapse=warn", "per_channel=false", "include_fast_ft=true"}));
}

TEST(SearchLadderTest, WhatIsBeyondTheLimitIsReported) {
  SearchFile file = file_of(kChoices);
  file.trials = 3;
  Diagnostics diagnostics;
  EXPECT_EQ(search_ladder(file, {}, diagnostics).value()[0].candidates({}).size(), 3U);
  ASSERT_EQ(diagnostics.all().size(), 1U);
  EXPECT_EQ(diagnostics.all()[0].id, "search-cut");
}

}  // namespace
}  // namespace quarkq::tuning

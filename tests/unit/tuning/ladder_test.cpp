// SPDX-License-Identifier: MIT
#include "tuning/ladder.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "config/quant_config.h"
#include "config/resolve.h"
#include "tuning/tune.h"

namespace quarkq::tuning {
namespace {

config::Settings resolved(const std::string& preset, const SettingList& sets) {
  Diagnostics ignored;
  const auto asked = config::load_config(preset, sets);
  EXPECT_TRUE(asked.ok()) << preset;
  const auto settings = config::resolve(asked.value(), config::ModelFacts{}, ignored);
  EXPECT_TRUE(settings.ok()) << preset << ": " << settings.status().message();
  return settings.value();
}

Base base(const std::string& preset, const SettingList& sets = {}) { return base_of(resolved(preset, sets)); }

using Names = std::vector<std::string>;

Names steps_of(const Base& base) {
  Names names;
  for (const Step& step : ladder()) {
    if (step.applies(base)) names.emplace_back(step.name);
  }
  return names;
}

Names trials_of(const std::string& step, const Base& base) {
  Names names;
  const auto row = std::ranges::find(ladder(), step, &Step::name);
  for (const Candidate& candidate : row->candidates(base)) names.push_back(candidate.name);
  return names;
}

TEST(LadderTest, StepsFollowTheFormats) {
  const Names all = {"plain", "rescued", "ranges", "weights", "sensitivity", "wider", "adaround", "blocks"};
  EXPECT_EQ(steps_of(base("XINT8", {"target=none"})), all);
  EXPECT_EQ(std::ranges::count(steps_of(base("XINT8")), "sensitivity"), 0);  // x1 refuses float nodes
  EXPECT_EQ(steps_of(base("XINT8", {"--allow-float=true"})), all);
  EXPECT_EQ(steps_of(base("A8W8")), all);
  EXPECT_EQ(steps_of(base("BF16")), (Names{"plain", "adaround", "blocks"}));
  EXPECT_EQ(steps_of(base("MATMUL_NBITS")), (Names{"plain"}));
  EXPECT_EQ(steps_of(base("A8W8_ADAROUND")), (Names{"plain", "ranges", "weights"}));
  EXPECT_EQ(std::ranges::count(steps_of(base("XINT8", {"quarkq.max_wide=0"})), "wider"), 0);
}

TEST(LadderTest, EveryTrialIsAllowedByItsPreset) {
  for (const char* preset : {"XINT8", "VINT8", "A8W8", "A16W8", "BF16", "S8S8_AAWS"}) {
    for (const Step& step : ladder()) {
      if (!step.applies(base(preset))) continue;
      for (const Candidate& candidate : step.candidates(base(preset))) resolved(preset, candidate.settings);
    }
  }
}

TEST(LadderTest, MethodsKeepTheKindOfScaleAndLeaveOutThePresetsOwn) {
  EXPECT_EQ(trials_of("ranges", base("XINT8")), (Names{"ranges: NonOverflow", "ranges: a quarter wider"}));
  EXPECT_EQ(trials_of("ranges", base("A8W8")),
            (Names{"ranges: Percentile", "ranges: LayerWisePercentile", "ranges: Entropy", "ranges: a quarter wider"}));
}

TEST(LadderTest, AScalePerChannelIsForFloatScales) {
  const auto has = [](const Base& of) {
    const Names names = trials_of("weights", of);
    return std::ranges::find(names, "weights: a scale per channel") != names.end();
  };
  EXPECT_TRUE(has(base("A8W8")));
  EXPECT_FALSE(has(base("A8W8", {"per_channel=true"})) || has(base("XINT8")));
}

const Sensitivity kFound = {
    {}, {{"conv1", "relu1", {"conv1", "relu1"}, 0.1}, {"", "", {}, 0.1}, {"fc", "fc", {"fc"}, 0.05}}};

TEST(LadderTest, HarmfulBlocksAreLeftInFloat) {
  const auto trials =
      blocks_in_float(base("XINT8", {"nodes_to_exclude=[head]"}), {.best = nullptr, .sensitivity = &kFound});
  ASSERT_EQ(trials.size(), 2u);  // one block has no names
  EXPECT_EQ(trials[0].name, "sensitivity: conv1 to relu1 in float");
  EXPECT_EQ(trials[0].settings, (SettingList{R"(nodes_to_exclude=["head","conv1","relu1"])"}));
  EXPECT_EQ(trials[0].excluded_macs, 0.1);
  EXPECT_EQ(trials[1].name, "sensitivity: fc in float");
  resolved("XINT8", trials[0].settings);
}

TEST(LadderTest, BlocksDoNotComeOnTopOfWiderFormats) {
  Trial best;
  best.wide_macs = 0.1;
  EXPECT_TRUE(blocks_in_float(base("XINT8"), {.best = &best, .sensitivity = &kFound}).empty());
}

TEST(LadderTest, BlocksNeedTheRightToFloatNodes) {
  const auto has = [](const SettingList& sets) {
    const Names steps = steps_of(base("A8W8", sets));
    return std::ranges::count(steps, "sensitivity") == 1;
  };
  EXPECT_TRUE(has({}));
  EXPECT_FALSE(has({"quarkq.rescue=[16_bits]"}) || has({"quarkq.max_wide=0"}));
}

TEST(LadderTest, SharesOfWideFormatsArePartsOfWhatWasAskedFor) {
  const auto wider = std::ranges::find(ladder(), "wider", &Step::name);
  const SettingList asked = {"quarkq.max_wide=0.1"};
  const auto trials = open_candidates(*wider, base("XINT8", asked), asked);
  ASSERT_EQ(trials.size(), 5u);
  EXPECT_EQ(trials[3].settings.back(), "quarkq.max_wide=0.05");
  EXPECT_EQ(trials[4].name, "wider: up to 10 % of the multiply-accumulates");
}

TEST(LadderTest, LaterSettingsReplaceEarlierOnesOfTheSameKey) {
  EXPECT_EQ(merged({"a=1", "b=2"}, {"a=3"}), (SettingList{"b=2", "a=3"}));
  EXPECT_EQ(merged({}, {"a=3"}), (SettingList{"a=3"}));
  EXPECT_EQ(key_of("quarkq.rounding=nearest"), "quarkq.rounding");
}

TEST(LadderTest, WhatTheUserSetIsNotTried) {
  const auto weights = std::ranges::find(ladder(), "weights", &Step::name);
  const size_t all = open_candidates(*weights, base("XINT8"), {}).size();
  EXPECT_EQ(open_candidates(*weights, base("XINT8"), {"quarkq.rounding=nearest"}).size(), all - 2);
}

Trial trial(double value, double wide, uint64_t bytes, std::string why_not = {}) {
  Trial one;
  one.value = value, one.wide_macs = wide, one.bytes = bytes, one.why_not = std::move(why_not);
  return one;
}

TEST(ParetoTest, BeatenFailedAndRepeatedTrialsAreLeftOut) {
  std::vector<Trial> trials = {trial(0.7, 0, 100), trial(0.8, 0.1, 100), trial(0.7, 0.1, 100), trial(0.8, 0.1, 100),
                               trial(0.9, 0, 50, "failed")};
  mark_pareto({"top1", "share", true}, trials);
  std::string found;
  for (const Trial& one : trials) found += one.is_pareto ? 'p' : '-';
  EXPECT_EQ(found, "pp---");
}

}  // namespace
}  // namespace quarkq::tuning

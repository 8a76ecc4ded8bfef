// SPDX-License-Identifier: MIT
// What the fine-tuning keeps beside its plan: layers that are done in a folder.
#include "planning/tune/saved_units.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "planning/tune/optimizer.h"
#include "support/run_op.h"
#include "unit/base/temp_folder.h"

namespace quarkq::planning::finetune {
namespace {

SavedUnit sample_layer() {
  return {true, 0.25, 0.125, 1.5, {{test::floats({2, 2}, {1, -2, 0.5f, 4}), test::ints({7, 8})}}};
}

void expect_same(const SavedUnit& found, const SavedUnit& wanted) {
  EXPECT_EQ(found.kept, wanted.kept);
  EXPECT_EQ(found.error_before, wanted.error_before);
  EXPECT_EQ(found.error_after, wanted.error_after);
  EXPECT_EQ(found.seconds, wanted.seconds);
  ASSERT_EQ(found.layers.size(), wanted.layers.size());
  for (size_t i = 0; i < wanted.layers.size(); ++i) {
    const LearnedConstants &one = found.layers[i], &other = wanted.layers[i];
    EXPECT_TRUE(one.weight.same_as(other.weight));
    EXPECT_EQ(one.bias.is_defined(), other.bias.is_defined());
    EXPECT_TRUE(!other.bias.is_defined() || one.bias.same_as(other.bias));
  }
}

TEST(SavedUnitsTest, SavedUnitsReadBack) {
  SavedUnit plain = sample_layer(), without_bias = sample_layer(), of_two = sample_layer(), empty;
  without_bias.layers[0].bias = {};
  of_two.layers.push_back({test::floats({3}, {1, 2, 3}), {}});
  for (const SavedUnit& layer : {plain, without_bias, of_two, empty}) {
    const auto back = parse_saved_unit(encode_saved_unit("key", layer), "key");
    ASSERT_TRUE(back.has_value());
    expect_same(*back, layer);
    EXPECT_FALSE(parse_saved_unit(encode_saved_unit("key", layer), "other").has_value());
    EXPECT_EQ(encode_saved_unit("key", layer), encode_saved_unit("key", layer));
  }
}

TEST(SavedUnitsTest, SavedTrainingsReadBack) {
  const SavedTraining training{50, 20, 0.25, sample_layer(), {1, -2, 0.5f}};
  const std::string bytes = encode_saved_training("key", training);
  const auto back = parse_saved_training(bytes, "key");
  ASSERT_TRUE(back.has_value());
  EXPECT_EQ(back->step, 50);
  EXPECT_EQ(back->begun, 20);
  EXPECT_EQ(back->rate_share, 0.25);
  EXPECT_EQ(back->state, training.state);
  expect_same(back->best, training.best);
  EXPECT_FALSE(parse_saved_training(bytes, "other").has_value());
  EXPECT_FALSE(parse_saved_unit(bytes, "key").has_value());
  for (size_t length = 0; length < bytes.size(); ++length)
    EXPECT_FALSE(parse_saved_training(std::string_view(bytes).substr(0, length), "key").has_value()) << length;
  for (size_t at = 0; at < bytes.size(); ++at) {
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ 1);
    EXPECT_FALSE(parse_saved_training(damaged, "key").has_value()) << at;
  }
}

TEST(SavedUnitsTest, EveryDamageOfASavedLayerIsSeen) {
  const std::string bytes = encode_saved_unit("key", sample_layer());
  for (size_t length = 0; length < bytes.size(); ++length)
    EXPECT_FALSE(parse_saved_unit(std::string_view(bytes).substr(0, length), "key").has_value()) << length;
  for (size_t at = 0; at < bytes.size(); ++at) {
    for (const int flip : {1, 0x80}) {
      std::string damaged = bytes;
      damaged[at] = static_cast<char>(damaged[at] ^ flip);
      EXPECT_FALSE(parse_saved_unit(damaged, "key").has_value()) << at;
    }
  }
  EXPECT_FALSE(parse_saved_unit(bytes + "x", "key").has_value());
}

TEST(SavedUnitsTest, LayersInAFolder) {
  test::TempFolder folder;
  const SavedUnits saved((folder / "state"));
  EXPECT_TRUE(saved.is_on());
  EXPECT_FALSE(saved.load(0, "key").has_value());
  ASSERT_TRUE(saved.save(0, "key", sample_layer()).ok());
  ASSERT_TRUE(saved.save(3, "key", sample_layer()).ok());
  ASSERT_TRUE(saved.load(0, "key").has_value());
  expect_same(*saved.load(3, "key"), sample_layer());
  EXPECT_FALSE(saved.load(1, "key").has_value());
  EXPECT_FALSE(saved.load(0, "another run").has_value());
  saved.remove(4);
  EXPECT_FALSE(std::filesystem::exists((folder / "state")));
  EXPECT_FALSE(SavedUnits("").is_on());
}

TEST(SavedUnitsTest, FoldersWithOtherFilesStay) {
  test::TempFolder folder;
  const SavedUnits saved((folder / "state"));
  ASSERT_TRUE(saved.save(0, "key", sample_layer()).ok());
  std::ofstream((folder / "state") + "/mine.txt") << "keep";
  saved.remove(1);
  EXPECT_TRUE(std::filesystem::exists((folder / "state") + "/mine.txt"));
  EXPECT_FALSE(saved.load(0, "key").has_value());
}

/// Adam as published (Kingma and Ba, algorithm 1), in double.
TEST(SavedUnitsTest, AdamIsTheAlgorithm) {
  const std::vector<std::vector<float>> gradients = {
      {1, -2, 0, 0.5f}, {0.5f, -2, 0, -0.5f}, {-3, 1e-4f, 0, 0.5f}, {1, 1, 0, 1e4f}};
  std::vector<float> variables = {0, 1, 2, -1};
  std::vector<double> expected(variables.begin(), variables.end()), first(4, 0), second(4, 0);
  Adam adam(4, 0.01);
  for (size_t t = 1; t <= gradients.size(); ++t) {
    adam.step(variables, gradients[t - 1]);
    for (size_t i = 0; i < 4; ++i) {
      const double g = gradients[t - 1][i], count = static_cast<double>(t);
      first[i] = 0.9 * first[i] + 0.1 * g;
      second[i] = 0.999 * second[i] + 0.001 * g * g;
      const double m = first[i] / (1 - std::pow(0.9, count)), v = second[i] / (1 - std::pow(0.999, count));
      expected[i] -= 0.01 * m / (std::sqrt(v) + 1e-8);
      EXPECT_NEAR(variables[i], expected[i], 1e-5) << "step " << t << ", variable " << i;
    }
  }
  EXPECT_EQ(variables[2], 2) << "no gradient, no step";
}

/// ref:tuning#adaround.
TEST(SavedUnitsTest, SchedulesOfTheRoundingCost) {
  const BetaSchedule schedule{1000, 0.2, 20, 2};
  EXPECT_TRUE(schedule.is_warm_up(0) && schedule.is_warm_up(199));
  EXPECT_FALSE(schedule.is_warm_up(200));
  EXPECT_NEAR(schedule.beta(200), 20, 1e-12);
  EXPECT_NEAR(schedule.beta(600), 11, 1e-12);
  EXPECT_NEAR(schedule.beta(1000), 2, 1e-12);
  for (int64_t i = 201; i <= 1000; ++i) EXPECT_LT(schedule.beta(i), schedule.beta(i - 1));
}

TEST(SavedUnitsTest, SharesStartAtTheirFraction) {
  for (float fraction = 0; fraction < 1; fraction += 0.01f) {
    const float alpha = alpha_of_fraction(fraction);
    const float share = std::clamp((kZeta - kGamma) / (1 + std::exp(-alpha)) + kGamma, 0.0f, 1.0f);
    EXPECT_NEAR(share, fraction, 1e-6f);
    EXPECT_TRUE(std::abs(fraction - 0.5f) < 1e-4f || hard_share(alpha) == std::round(fraction)) << fraction;
  }
}

}  // namespace
}  // namespace quarkq::planning::finetune

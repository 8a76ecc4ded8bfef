// SPDX-License-Identifier: MIT
// Formats that a rescue may change, and the order in which they are tried.
#include <gtest/gtest.h>

#include "config/settings.h"

namespace quarkq::config {
namespace {

struct Row {
  const char* name;
  std::optional<std::vector<std::string>> formats;
  bool channels, channels_first;
};

class RescueOrderTest : public ::testing::TestWithParam<Row> {};

const Row kRows[] = {
    {"all_by_default", std::nullopt, true, true},
    {"none", std::vector<std::string>{}, false, false},
    {"listed_first", std::vector<std::string>{"channel_scales", "16_bits"}, true, true},
    {"listed_after_16_bits", std::vector<std::string>{"16_bits", "channel_scales", "float_nodes"}, true, false},
    {"without_16_bits", std::vector<std::string>{"channel_scales"}, true, true},
    {"not_listed", std::vector<std::string>{"16_bits", "float_nodes"}, false, false},
};
INSTANTIATE_TEST_SUITE_P(Lists, RescueOrderTest, ::testing::ValuesIn(kRows),
                         [](const auto& info) { return std::string(info.param.name); });

TEST_P(RescueOrderTest, FollowsTheList) {
  Settings settings;
  settings.tool.rescue = GetParam().formats;
  EXPECT_EQ(settings.may_rescue_with("channel_scales"), GetParam().channels);
  EXPECT_EQ(settings.rescues_first_with("channel_scales", "16_bits"), GetParam().channels_first);
}

TEST(RescueFormatsTest, FloatNodesMayBeAllowedApart) {
  Settings settings;
  settings.tool.rescue = std::vector<std::string>{};
  EXPECT_FALSE(settings.may_rescue_with("float_nodes"));
  settings.tool.allow_float = true;
  EXPECT_TRUE(settings.may_rescue_with("float_nodes"));
  EXPECT_FALSE(settings.may_rescue_with("16_bits"));
}

}  // namespace
}  // namespace quarkq::config

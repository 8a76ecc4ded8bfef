// SPDX-License-Identifier: MIT
// quarkq.guards and quarkq.min_cosine.
#include <gtest/gtest.h>

#include "config/load.h"
#include "config/resolve.h"

namespace quarkq::config {
namespace {

Result<Settings> settings_with(const std::string& set) {
  QQ_TRY(const QuantConfig config, load_config("A8W8", set.empty() ? std::vector<std::string>{} : std::vector{set}));
  Diagnostics ignored;
  return resolve(config, {}, ignored);
}

TEST(GuardsTest, AreOnByDefault) {
  EXPECT_TRUE(settings_with("").value().guards());
  EXPECT_TRUE(settings_with("quarkq.guards=on").value().guards());
}

TEST(GuardsTest, CanBeSwitchedOff) {
  for (const char* set : {"quarkq.guards=off", "quarkq.guards=false", "guards=off", "quarkq.compat=quark-0.13"}) {
    EXPECT_FALSE(settings_with(set).value().guards()) << set;
  }
}

TEST(GuardsTest, RefuseOtherWords) {
  EXPECT_FALSE(settings_with("quarkq.guards=maybe").ok());
  EXPECT_FALSE(settings_with("guards=1").ok());
  EXPECT_FALSE(settings_with("quarkq.min_cosine=1.5").ok());
  EXPECT_EQ(settings_with("quarkq.min_cosine=0.95").value().tool.min_cosine, 0.95);
}

}  // namespace
}  // namespace quarkq::config

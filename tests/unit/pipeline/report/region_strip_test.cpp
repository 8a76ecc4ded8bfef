// SPDX-License-Identifier: MIT
// Regions on a page: colours, limits and names from files.
#include "pipeline/report/html/region_strip.h"

#include <gtest/gtest.h>

#include "base/strings.h"

namespace quarkq::pipeline::html {
namespace {

size_t count_of(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size())) ++count;
  return count;
}

TEST(RegionStripTest, RegionsAlternateAndTheRestHasItsOwnColour) {
  const std::string strip =
      region_strip({{0, "bad", "a"}, {0, "bad", "b"}, {1, "bad", "c"}, {-1, "bad", "d"}, {-1, "fair", "e"}}, "all");
  EXPECT_EQ(count_of(strip, "class=\"good\""), 2u);
  EXPECT_EQ(count_of(strip, "class=\"fill\""), 1u);
  EXPECT_EQ(count_of(strip, "class=\"bad\""), 1u);
  EXPECT_EQ(count_of(strip, "class=\"fair\""), 1u);
  EXPECT_NE(strip.find("viewBox=\"0 0 5 10\""), std::string::npos) << strip;
  EXPECT_NE(strip.find("aria-label=\"all\""), std::string::npos);
}

TEST(RegionStripTest, NamesAreEscaped) {
  const std::string strip = region_strip({{0, "bad", "<script>&"}}, "\"quoted\"");
  EXPECT_EQ(strip.find("<script"), std::string::npos) << strip;
  EXPECT_NE(strip.find("&lt;script&gt;&amp;"), std::string::npos) << strip;
  EXPECT_EQ(strip.find("\"\"quoted"), std::string::npos) << strip;
}

TEST(RegionStripTest, DrawsTheFirstFourThousand) {
  const std::vector<StripPart> parts(5000, {0, "bad", "n"});
  EXPECT_EQ(count_of(region_strip(parts, "all"), "<rect"), 4000u);
}

TEST(RegionStripTest, NothingIsAnEmptyPicture) {
  const std::string strip = region_strip({}, "none");
  EXPECT_EQ(count_of(strip, "<rect"), 0u);
  EXPECT_NE(strip.find("viewBox=\"0 0 1 10\""), std::string::npos) << strip;
}

TEST(RegionTableTest, ARowPerRegion) {
  TargetRegion first, second;
  first.operators = 3;
  first.nodes = 12;
  first.mac_share = 0.75;
  first.first = "conv<1>";
  first.last = "relu";
  second.is_running = false;
  const std::string table = region_table({first, second});
  EXPECT_EQ(count_of(table, "<tr>"), 3u);
  for (const char* words : {"75 %", "conv&lt;1&gt;", "relu", "left to the CPU"})
    EXPECT_NE(table.find(words), std::string::npos) << words;
  EXPECT_EQ(region_table({}), "");
}

}  // namespace
}  // namespace quarkq::pipeline::html

// SPDX-License-Identifier: MIT
// The pieces that reports are made of: escaped text, numbers for people, bars and folds, JSON that any reader takes,
// and parts of tensors.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

#include "pipeline/html/charts.h"
#include "pipeline/html/markup.h"
#include "pipeline/json.h"
#include "pipeline/thinned.h"

namespace quarkq::pipeline {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

size_t count_of(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

/// Names of opened elements that are not closed, void and self-closing ones aside.
std::string unclosed(const std::string& markup) {
  std::vector<std::string> open;
  for (size_t at = 0; (at = markup.find('<', at)) != std::string::npos; ++at) {
    const size_t end = markup.find('>', at);
    if (end == std::string::npos) return "a tag without an end";
    const bool closes = markup[at + 1] == '/';
    const size_t from = at + (closes ? 2 : 1);
    const std::string name = markup.substr(from, markup.find_first_of(" />", from) - from);
    if (markup[end - 1] == '/') continue;
    if (!closes) {
      open.push_back(name);
    } else if (open.empty() || open.back() != name) {
      return "</" + name + "> closes nothing";
    } else {
      open.pop_back();
    }
  }
  return open.empty() ? "" : "<" + open.back() + "> stays open";
}

const char* const kHostile = "<script>alert(\"x\")</script>&'\"<b>";

TEST(HtmlTest, TextOfFilesIsEscaped) {
  EXPECT_EQ(html::escaped("a & b"), "a &amp; b");
  EXPECT_EQ(html::escaped("<x>"), "&lt;x&gt;");
  EXPECT_EQ(html::escaped("plain text 1.5"), "plain text 1.5");
  const std::string safe = html::escaped(kHostile);
  EXPECT_EQ(safe.find_first_of("<>\"'"), std::string::npos) << safe;
  for (const std::string& markup :
       {html::text_element("td", kHostile), html::element("a", {{"title", kHostile}}, ""),
        html::table({{kHostile}, {kHostile}}), html::bar_chart({{kHostile, kHostile, kHostile, 0.5}}),
        html::column_chart({{kHostile, kHostile, kHostile, 0.5}})}) {
    EXPECT_EQ(markup.find("<script"), std::string::npos) << markup;
    EXPECT_EQ(markup.find("<b>"), std::string::npos) << markup;
    EXPECT_EQ(unclosed(markup), "") << markup;
  }
}

TEST(HtmlTest, NumbersForPeople) {
  const std::pair<double, const char*> rows[] = {{0, "0"},         {1, "1"},    {-2.5, "-2.5"}, {1234, "1234"},
                                                 {0.125, "0.125"}, {kInf, "-"}, {-kInf, "-"},   {NAN, "-"}};
  for (const auto& [number, text] : rows) EXPECT_EQ(html::short_number(number), text) << number;
  for (double number = 1e-3; number < 1e4; number *= 1.7) {
    const std::string text = html::short_number(number);
    EXPECT_NEAR(std::stod(text), number, 1e-3 * number) << text;
    EXPECT_EQ(text.find('e'), std::string::npos) << text;
    EXPECT_EQ(html::short_number(-number), "-" + text);
  }
}

TEST(HtmlTest, EmptyPartsAreLeftOut) {
  EXPECT_EQ(html::section("Title", "note", ""), "");
  EXPECT_NE(html::section("Title", "note", "<p>x</p>"), "");
  EXPECT_EQ(html::table({}), "");
  EXPECT_EQ(html::table({{"header", "only"}}), "");
  EXPECT_EQ(unclosed(html::section("Title", "", "<p>x</p>")), "");
}

TEST(HtmlTest, TablesHaveACellForEachText) {
  const std::string table = html::table({{"a", "b"}, {"1", "2"}, {"3", "4"}});
  EXPECT_EQ(count_of(table, "<tr>"), 3u);
  EXPECT_EQ(count_of(table, "<th>"), 2u);
  EXPECT_EQ(count_of(table, "<td>"), 4u);
  EXPECT_EQ(unclosed(table), "");
}

TEST(HtmlTest, BarsStayWithinTheirTrack) {
  for (const double share : {-1.0, 0.0, 0.25, 0.999, 1.0, 7.0}) {
    const std::string bar = html::bar(share, "fill");
    EXPECT_EQ(unclosed(bar), "");
    const size_t at = bar.find("class=\"fill\"");
    ASSERT_NE(at, std::string::npos) << bar;
    const size_t width = bar.find("width=\"", at) + 7;
    EXPECT_NEAR(std::stod(bar.substr(width)), 100 * std::min(1.0, std::max(0.0, share)), 0.01) << share;
  }
}

TEST(HtmlTest, FoldsHoldWhatIsNotShown) {
  const std::vector<std::string> parts = {"<p>1</p>", "<p>2</p>", "<p>3</p>", "<p>4</p>"};
  for (size_t shown = 0; shown <= 5; ++shown) {
    const std::string text = html::folded(parts, shown, "div", "rows");
    EXPECT_EQ(count_of(text, "<p>"), 4u) << shown;
    EXPECT_EQ(count_of(text, "<details") > 0, shown < 4) << shown;
    EXPECT_EQ(unclosed(text), "") << text;
  }
}

TEST(HtmlTest, JsonHoldsNumbersOnly) {
  EXPECT_EQ(number(1.5), Json(1.5));
  for (const double none : {kInf, -kInf, double{NAN}}) EXPECT_TRUE(number(none).is_null());
  EXPECT_TRUE(decibels(kInf).is_null());
  EXPECT_EQ(decibels(-kInf), Json(-400.0));
  EXPECT_EQ(decibels(NAN), Json(-400.0));
  EXPECT_EQ(decibels(-12.5), Json(-12.5));
}

TEST(HtmlTest, JsonTextTakesAnyBytes) {
  const std::string written = text(Json{{"name", std::string("a\xff\xfe") + "b"}, {"quote", "\"\n"}});
  const Json back = Json::parse(written, nullptr, /*allow_exceptions=*/false);
  ASSERT_FALSE(back.is_discarded()) << written;
  EXPECT_EQ(back["quote"], "\"\n");
  EXPECT_EQ(written.back(), '\n');
  EXPECT_EQ(text(Json{{"z", 1}, {"a", 2}}), "{\n  \"z\": 1,\n  \"a\": 2\n}\n") << "keys in the order they are set";
}

TEST(HtmlTest, FindingsInJson) {
  Finding warning, notice;
  warning.is_warning = true;
  warning.id = "id";
  warning.subject = "s";
  warning.text = "t";
  const Json json = findings_json({warning, notice});
  ASSERT_EQ(json.size(), 2u);
  EXPECT_EQ(json[0]["severity"], "warning");
  EXPECT_EQ(json[0]["id"], "id");
  EXPECT_EQ(json[1]["severity"], "notice");
  EXPECT_EQ(findings_json({}), Json::array());
}

TEST(HtmlTest, ThinnedTensorsKeepAnEvenPart) {
  for (const size_t count : {0u, 1u, 8191u, 8192u, 8193u, 20000u, 100000u, 1000003u}) {
    std::vector<float> values(count);
    for (size_t i = 0; i < count; ++i) values[i] = static_cast<float>(i);
    const std::vector<float> kept = thinned(values);
    EXPECT_EQ(kept.empty(), count == 0);
    EXPECT_LE(kept.size(), 8193u) << count;
    EXPECT_TRUE(count > 8192 || kept == values);
    if (kept.size() < 2) continue;
    const float stride = kept[1] - kept[0];
    for (size_t i = 1; i < kept.size(); ++i) ASSERT_EQ(kept[i] - kept[i - 1], stride);
    EXPECT_EQ(static_cast<int>(stride) % 2, 1) << "an even stride would meet every second channel";
    EXPECT_GE(kept.back() + stride, static_cast<float>(count));
  }
}

}  // namespace
}  // namespace quarkq::pipeline

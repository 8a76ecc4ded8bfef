// SPDX-License-Identifier: MIT
// The pieces that reports are made of: escaped text, numbers for people, bars and folds, JSON that any reader takes,
// and parts of tensors.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

#include "calib/sample_run.h"
#include "pipeline/report/html/charts.h"
#include "pipeline/report/html/markup.h"
#include "pipeline/report/html/tune_page.h"
#include "pipeline/report/json.h"

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

Json trial(const std::string& step, const std::string& name, const Json& value, double wide, bool is_pareto) {
  return {{"step", step},
          {"name", name},
          {"settings", Json::array({"a=" + name})},
          {"why_not", value.is_null() ? kHostile : ""},
          {"value", value},
          {"wide_macs", wide},
          {"bytes", 1000},
          {"seconds", 2},
          {"deployable", nullptr},
          {"pareto", is_pareto}};
}

Json tuning(const std::string& better, size_t best) {
  return {
      {"quarkq", "1"},
      {"model", "m.onnx"},
      {"output", "o.onnx"},
      {"settings", "o.yaml"},
      {"metric", {{"name", kHostile}, {"better", better}}},
      {"float_value", nullptr},
      {"goal", "value>=2"},
      {"met", false},
      {"timed_out", true},
      {"best", best},
      {"next", "blocks"},
      {"seconds", 9},
      {"findings", Json::array()},
      {"trials", Json::array({trial("plain", "first", 0.25, 0, true), trial("ranges", "second", 0.75, 0.125, true),
                              trial("ranges", "third", nullptr, 0, false), trial("wider", "fourth", 0.5, 1, false)})}};
}

TEST(HtmlTest, PageOfTuningShowsWhatStepsGave) {
  const std::string page = html::tune_page(tuning("higher", 1));
  EXPECT_EQ(unclosed(page.substr(page.find("<body>"), page.find("</html>") - page.find("<body>"))), "");
  EXPECT_EQ(page.find("<script>"), std::string::npos);
  EXPECT_NE(page.find("was missed. The time was up. With more time: blocks."), std::string::npos);
  EXPECT_EQ(count_of(page, "<circle"), 3u);
  EXPECT_EQ(count_of(page, "class=\"good\" cx"), 2u);  // not beaten
  EXPECT_NE(page.find("<td>ranges</td><td>2</td><td>second</td><td>0.75</td><td>0.5</td><td>12.5 %</td>"),
            std::string::npos);
  EXPECT_NE(page.find("<td>fourth</td><td>0.5</td><td>-</td>"), std::string::npos);  // gained nothing
  EXPECT_NE(page.find("<li>a=second</li>"), std::string::npos);
}

TEST(HtmlTest, ScattersLieWithinTheirPicture) {
  EXPECT_EQ(html::scatter_chart({}, "x", "y"), "");
  const std::string one = html::scatter_chart({{3, 3, kHostile, true}}, "x", kHostile);
  EXPECT_EQ(unclosed(one), "");
  EXPECT_EQ(one.find("<script>"), std::string::npos);
  EXPECT_NE(one.find("cx=\"240\" cy=\"100\""), std::string::npos);  // the middle
  const std::string two = html::scatter_chart({{0, 1, "a", false}, {10, 2, "b", true}}, "wide", "value");
  EXPECT_NE(two.find("class=\"fill\" cx=\"12\" cy=\"188\""), std::string::npos);
  EXPECT_NE(two.find("class=\"good\" cx=\"468\" cy=\"12\""), std::string::npos);
  EXPECT_NE(two.find("across: wide, 0 to 10; up: value, 1 to 2"), std::string::npos);
}

TEST(HtmlTest, DocumentsHaveATitleAndAStyle) {
  const std::string page = html::document(kHostile, html::tile("figure", kHostile, "bad"));
  EXPECT_EQ(page.find("<script>"), std::string::npos);
  EXPECT_EQ(count_of(page, "<title>"), 1u);
  EXPECT_NE(page.find("class=\"tile bad\">figure<b>"), std::string::npos);
}

TEST(HtmlTest, PageOfTuningKnowsWhichWayIsBetter) {
  const std::string page = html::tune_page(tuning("lower", 0));
  EXPECT_NE(page.find("<td>plain</td><td>1</td><td>first</td><td>0.25</td><td>-</td>"), std::string::npos);
  EXPECT_NE(page.find("<td>second</td><td>0.75</td><td>-</td>"), std::string::npos);
  EXPECT_THROW(html::tune_page({{"trials", 1}}), Json::exception);
}

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
    const std::vector<float> kept = calib::thinned(values);
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

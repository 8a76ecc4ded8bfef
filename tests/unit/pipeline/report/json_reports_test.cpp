// SPDX-License-Identifier: MIT
// Every report as JSON: numbers that JSON lacks become null, names from files may hold any bytes, and what was not
// measured is absent or null, never a made-up figure.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "quarkq/analyze.h"
#include "quarkq/convert.h"
#include "quarkq/evaluate.h"
#include "quarkq/inspect.h"
#include "quarkq/quantize.h"

namespace quarkq {
namespace {

using Json = nlohmann::json;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN(), kInfinity = std::numeric_limits<double>::infinity();

/// No UTF-8, with what JSON escapes.
const std::string kHostile = "a\xFF\xFE\"\\\n\x01/\xC3";

/// Parses, and ends like a file: with one newline.
template <typename Report>
Json parsed(const Report& report) {
  const std::string text = to_json(report);
  EXPECT_TRUE(text.ends_with("}\n")) << text.substr(text.size() < 20 ? 0 : text.size() - 20);
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  EXPECT_FALSE(json.is_discarded()) << text;
  return json;
}

/// Paths of all numbers, texts and nulls below `json` for which `fits`.
void collect(const Json& json, const std::string& path, bool (*fits)(const Json&), std::vector<std::string>& found) {
  if (json.is_structured()) {
    for (const auto& [key, value] : json.items()) collect(value, path + "/" + key, fits, found);
  } else if (fits(json)) {
    found.push_back(path);
  }
}

size_t count_nulls(const Json& json) {
  std::vector<std::string> found;
  collect(
      json, "", [](const Json& one) { return one.is_null(); }, found);
  return found.size();
}

TEST(JsonReportsTest, EmptyReportsAreObjects) {
  EXPECT_TRUE(parsed(QuantizeReport{}).is_object());
  EXPECT_TRUE(parsed(AnalyzeReport{}).is_object());
  EXPECT_TRUE(parsed(CalibrateReport{}).is_object());
  EXPECT_TRUE(parsed(OptimizeReport{}).is_object());
  EXPECT_TRUE(parsed(RunReport{}).is_object());
  EXPECT_TRUE(parsed(EvaluateReport{}).is_object());
  EXPECT_TRUE(parsed(InspectReport{}).is_object());
}

TEST(JsonReportsTest, QuantizeTakesAnyNameAndNumber) {
  QuantizeReport report;
  report.model_path = report.output_path = report.preset = kHostile;
  report.outputs = {{kHostile, kNan, -kInfinity, kNan, kHostile, false, Agreement{kNan, kInfinity}}};
  report.metric = kNan;
  report.verdict = Verdict{Grade::kPoor, kHostile, kHostile};
  report.worst_tensors = report.causes = {{kHostile, kHostile, kInfinity, -kInfinity, kNan, kNan, false}};
  report.tuned_layers = {{kHostile, "adaround", kNan, kInfinity, true, false, 1}};
  report.tuned_outputs = TunedOutputs{3, kNan, 1};
  report.inputs = {{kHostile, "FLOAT", {-1, 3}, 2, -kInfinity, kInfinity, {kNan}, {kNan}}};
  report.findings = {{true, "id", kHostile, kHostile}};
  report.operators[kHostile] = {2, 1};
  const Json json = parsed(report);
  EXPECT_GE(count_nulls(json), 5u);
  std::vector<std::string> texts;
  collect(
      json, "", [](const Json& one) { return one.is_string() && one.get<std::string>().starts_with("a"); }, texts);
  EXPECT_GE(texts.size(), 8u) << "names are replaced byte by byte, not left out";
}

TEST(JsonReportsTest, WhatWasNotMeasuredIsNoFigure) {
  const Json plain = parsed(QuantizeReport{});
  for (const char* key : {"metric", "verdict", "rescue"}) {
    EXPECT_TRUE(!plain.contains(key) || plain[key].is_null()) << key << ": " << plain[key];
  }
  QuantizeReport measured;
  measured.metric = 0;
  EXPECT_EQ(parsed(measured)["metric"], 0) << "zero is a figure";
}

TEST(JsonReportsTest, AnalyzeKeepsTheOrderOfTheLayers) {
  AnalyzeReport report;
  report.preset = kHostile;
  report.layers = {{"z", {"z1", "z2"}, {0.5, 3}}, {"a", {}, {0.25, -kInfinity}}, {kHostile, {kHostile}, {kNan, kNan}}};
  report.leave_out = {kHostile};
  report.all_quantized = {kNan, kInfinity};
  const Json json = parsed(report);
  ASSERT_EQ(json["layers"].size(), 3u);
  EXPECT_EQ(json["layers"][0]["node"], "z");
  EXPECT_EQ(json["layers"][1]["node"], "a");
  EXPECT_EQ(json["layers"][0]["names"], Json({"z1", "z2"}));
  EXPECT_EQ(json["leave_out"].size(), 1u);
}

TEST(JsonReportsTest, LargeCountsStayExact) {
  CalibrateReport report;
  report.output_path = kHostile;
  report.samples = report.total_samples = report.values = report.bytes = std::numeric_limits<uint64_t>::max();
  const Json json = parsed(report);
  std::vector<std::string> exact;
  collect(
      json, "", [](const Json& one) { return one == std::numeric_limits<uint64_t>::max(); }, exact);
  EXPECT_EQ(exact.size(), 4u);
}

TEST(JsonReportsTest, OptimizeAndRunListWhatTheyDid) {
  OptimizeReport optimized;
  optimized.model_path = kHostile;
  optimized.passes = {{"fuse-gelu", 0.5, true, 7, 3}, {"sort-nodes", kNan, false, 3, 3}};
  optimized.findings = {{false, "id", "s", "t"}};
  const Json first = parsed(optimized);
  ASSERT_EQ(first["passes"].size(), 2u);
  EXPECT_EQ(first["passes"][0]["name"], "fuse-gelu");
  RunReport run;
  run.outputs = {kHostile, "y"};
  run.milliseconds = {1.5, kNan, kInfinity};
  run.samples = 3;
  EXPECT_EQ(parsed(run)["samples"], 3);
}

TEST(JsonReportsTest, EvaluateSaysNullForWhatIsNoNumber) {
  EvaluateReport report;
  report.pairs = {{"p", 1, 0, 200, 1, kInfinity, 0}, {kHostile, kNan, kNan, kNan, kNan, -kInfinity, kNan}};
  report.mean_cosine = kNan;
  report.accuracy = Accuracy{10, 3, {{1, 9, 8}, {5, 10, 10}}, 8};
  report.outputs = {{kHostile, 2, kNan, kInfinity, 0, 0}};
  const Json json = parsed(report);
  EXPECT_EQ(json["pairs"].size(), 2u);
  EXPECT_EQ(json["pairs"][0]["cosine"], 1);
  EXPECT_TRUE(json["pairs"][1]["cosine"].is_null());
}

/// Fields of one line of CSV; quotes are doubled inside quotes.
std::vector<std::string> csv_fields(const std::string& line) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '"' && quoted && i + 1 < line.size() && line[i + 1] == '"') {
      fields.back() += line[i++];
    } else if (line[i] == '"') {
      quoted = !quoted;
    } else if (line[i] == ',' && !quoted) {
      fields.emplace_back();
    } else {
      fields.back() += line[i];
    }
  }
  return fields;
}

TEST(JsonReportsTest, CsvRowsHaveTheFieldsOfTheirHead) {
  EvaluateReport report;
  for (const char* name : {"plain", "with,comma", "with \"quotes\"", "\"", ",", "a/b c.npy"}) {
    report.pairs.push_back({name, 1, 2, 3, 4, kInfinity, 6});
    report.layers.push_back({name, std::string("node ") + name, 10, 20, 30, 0.5, false});
  }
  for (const std::string& csv : {pairs_csv(report), layers_csv(report)}) {
    std::vector<std::vector<std::string>> rows;
    for (size_t begin = 0; begin < csv.size();) {
      const size_t end = csv.find('\n', begin);
      ASSERT_NE(end, std::string::npos) << "the last line ends, too";
      rows.push_back(csv_fields(csv.substr(begin, end - begin)));
      begin = end + 1;
    }
    ASSERT_EQ(rows.size(), 7u) << csv;
    for (size_t i = 1; i < rows.size(); ++i) {
      EXPECT_EQ(rows[i].size(), rows[0].size()) << csv;
      EXPECT_EQ(rows[i][0], report.pairs[i - 1].file);
    }
  }
}

}  // namespace
}  // namespace quarkq

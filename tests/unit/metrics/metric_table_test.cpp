// SPDX-License-Identifier: MIT
// The table of metrics: names with numbers, unknown names, what shares a reading of the truth.
#include "metrics/metric_table.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "metrics/array_metrics.h"
#include "unit/base/temp_folder.h"

namespace quarkq::metrics {
namespace {

TEST(MetricTableTest, RowsAreCompleteAndDiffer) {
  std::set<std::string_view> names;
  for (const MetricInfo& row : metric_table()) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_FALSE(row.summary.empty()) << row.name;
    EXPECT_NE(row.open == nullptr, row.compare == nullptr) << row.name << " needs one of both";
    EXPECT_EQ(row.compare != nullptr, row.truth == TruthKind::kBaseline) << row.name;
    EXPECT_FALSE(truth_name(row.truth).empty());
  }
}

TEST(MetricTableTest, ANumberStandsForK) {
  const auto chosen = choose_metrics({"top1", "top37", "sqnr"}).value();
  EXPECT_EQ(chosen[0].variant, 1);
  EXPECT_EQ(chosen[1].variant, 37);
  EXPECT_EQ(chosen[0].info, chosen[1].info);
  EXPECT_EQ(chosen[2].info->name, "sqnr");
}

TEST(MetricTableTest, ChoicesCountOnlyByThemselves) {
  const auto cosine = [](const EvaluateReport& report) {
    return mean_of(report, choose_metrics({"cosine"}).value()[0].info->compare).once(sample_count(report));
  };
  EvaluateReport report;
  const auto add = [&](double value, bool is_choice) {
    PairMetrics& pair = report.pairs.emplace_back();
    pair.cosine = value;
    pair.is_choice = is_choice;
  };
  add(0.25, true);
  add(0.75, true);
  EXPECT_EQ(cosine(report), 0.5);
  add(1, false);
  EXPECT_EQ(cosine(report), 1);
}

TEST(MetricTableTest, WideIntegersAreChoices) {
  const auto is_choice = [](const ir::Tensor& values) {
    ArrayPair arrays = pair_arrays(values, "a", values, "b").value();
    return compare_arrays(arrays, /*compat=*/false).metrics.is_choice;
  };
  EXPECT_TRUE(is_choice(ir::Tensor::from<int64_t>({2}, {1, 2})));
  EXPECT_TRUE(is_choice(ir::Tensor::from<int32_t>({2}, {1, 2})));
  EXPECT_FALSE(is_choice(ir::Tensor::from<uint8_t>({2}, {1, 2})));
  EXPECT_FALSE(is_choice(ir::Tensor::from<int16_t>({2}, {1, 2})));
  EXPECT_FALSE(is_choice(ir::Tensor::from<float>({2}, {1, 2})));
}

TEST(MetricTableTest, RefusesUnknownNames) {
  for (const char* name : {"topK", "top", "top0", "top01", "top-1", "top1x", "top99999999", "", "TOP1", "top+1"}) {
    const auto refused = choose_metrics({name});
    ASSERT_FALSE(refused.ok()) << name;
    EXPECT_EQ(refused.status().code(), Code::kInvalidArgument);
  }
  EXPECT_NE(choose_metrics({"cosin"}).status().message().find("did you mean cosine?"), std::string::npos);
  EXPECT_NE(choose_metrics({"psnr", "psnr"}).status().message().find("twice"), std::string::npos);
}

TEST(MetricRunTest, TopKCountsRanks) {
  const test::TempFolder folder;
  const std::string labels = folder.write("l.csv", "a.jpg,2\nb.jpg,0\n");
  ScoringOptions options{{.truth_path = labels}, 2, false};
  MetricRun run = MetricRun::open(choose_metrics({"top1", "top2", "top9", "cosine"}).value(), options).value();
  const std::vector<std::string> outputs = {"y"};
  const auto add = [&](size_t number, const std::string& name, const std::vector<float>& scores) {
    const std::vector<ir::Tensor> values = {ir::Tensor::from<float>({1, static_cast<int64_t>(scores.size())}, scores)};
    return run.add({number, name, outputs, values});
  };
  EXPECT_EQ(run.values().status().code(), Code::kBadData);  // nothing yet
  ASSERT_TRUE(add(0, "a", {1, 2, 3}).ok());
  ASSERT_TRUE(add(1, "b", {1, 2, 0}).ok());
  const auto values = run.values().value();
  EXPECT_EQ(values[0]->value, 0.5);
  EXPECT_EQ(values[1]->value, 1.0);
  EXPECT_EQ(values[2]->value, 1.0);
  EXPECT_EQ(values[0]->samples.hits.size(), 2u);
  EXPECT_EQ(values[0]->samples.draws.size(), 1000u);
  EXPECT_FALSE(values[3].has_value());
  EXPECT_EQ(add(2, "c", {1, 2, 0}).message(), "sample c: no label in " + labels);
  EXPECT_EQ(add(0, "a", {1, 2}).message(), "sample a: its label is 2, there are scores of 2 classes");
}

TEST(MetricRunTest, SeveralOutputsNeedAName) {
  const test::TempFolder folder;
  ScoringOptions options{{.truth_path = folder.write("l.txt", "1\n")}, 1, false};
  const std::vector<std::string> outputs = {"a", "b"};
  const std::vector<ir::Tensor> values = {ir::Tensor::from<float>({2}, std::vector<float>{1, 0}),
                                          ir::Tensor::from<float>({2}, std::vector<float>{0, 1})};
  const auto top1 = choose_metrics({"top1"}).value();
  MetricRun unnamed = MetricRun::open(top1, options).value();
  EXPECT_NE(unnamed.add({0, "s", outputs, values}).message().find("one of the outputs a, b"), std::string::npos);
  options.request.output = "b";
  MetricRun named = MetricRun::open(top1, options).value();
  ASSERT_TRUE(named.add({0, "s", outputs, values}).ok());
  EXPECT_EQ(named.values().value()[0]->value, 1.0);
}

TEST(MetricRunTest, NeedsATruth) {
  const auto refused = MetricRun::open(choose_metrics({"top1"}).value(), {});
  EXPECT_EQ(refused.status().message(), "--metric top1: needs --labels, labels");
}

TEST(MetricRunTest, ScoresThatAreNoNumbersAreNoHits) {
  const test::TempFolder folder;
  ScoringOptions options{{.truth_path = folder.write("l.txt", "1\n")}, 1, false};
  MetricRun run = MetricRun::open(choose_metrics({"top2"}).value(), options).value();
  const std::vector<ir::Tensor> values = {ir::Tensor::from<float>({2}, std::vector<float>{NAN, 1})};
  const std::vector<std::string> outputs = {"y"};
  ASSERT_TRUE(run.add({0, "s", outputs, values}).ok());
  EXPECT_EQ(run.values().value()[0]->value, 0.0);
}

}  // namespace
}  // namespace quarkq::metrics

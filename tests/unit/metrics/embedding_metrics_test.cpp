// SPDX-License-Identifier: MIT
// Metrics of embeddings and of answers as spans, by hand.
#include <gtest/gtest.h>

#include <cmath>

#include "calib/npy.h"
#include "unit/base/temp_folder.h"
#include "unit/metrics/scored.h"

namespace quarkq::metrics {
namespace {

using test::Scored;

Scored embedding(const std::string& name, const std::vector<float>& values) {
  return {name, ir::Tensor::from<float>({1, static_cast<int64_t>(values.size())}, values)};
}

/// Directions at 0, 10, 30 and 90 degrees, of several lengths.
std::vector<Scored> four() {
  const auto at = [](const std::string& name, float degrees, float length) {
    const float angle = degrees * 3.14159265F / 180;
    return embedding(name, {length * std::cos(angle), length * std::sin(angle)});
  };
  return {at("q.npy", 0, 1), at("a.npy", 10, 5), at("b.npy", 30, 0.1F), at("c.npy", 90, 2)};
}

std::vector<double> scored(const std::vector<std::string>& metrics, const std::string& truth,
                           const std::vector<Scored>& samples) {
  const test::TempFolder folder;
  return test::score(metrics, {.truth_path = folder.write("t.csv", truth)}, samples).value();
}

std::string message(const std::string& metric, const std::string& truth, const std::vector<Scored>& samples) {
  const test::TempFolder folder;
  const auto found = test::score({metric}, {.truth_path = folder.write("t.csv", truth)}, samples);
  return found.ok() ? "" : found.status().message();
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(EmbeddingMetricsTest, CorrelateCosinesWithScores) {
  // Cosines: q-a 0.985, q-b 0.866, q-c 0.
  const auto found = scored({"spearman", "pearson"}, "first,second,score\nq,a,5\nq,b,4\nq,c,1\n", four());
  EXPECT_NEAR(found[0], 1, 1e-9);
  const double x[] = {std::cos(M_PI / 18), std::cos(M_PI / 6), 0}, y[] = {5, 4, 1};
  double sx = 0, sy = 0, sxy = 0, sxx = 0, syy = 0;
  for (int i = 0; i < 3; ++i) {
    sx += x[i];
    sy += y[i];
    sxy += x[i] * y[i];
    sxx += x[i] * x[i];
    syy += y[i] * y[i];
  }
  EXPECT_NEAR(found[1], (3 * sxy - sx * sy) / std::sqrt((3 * sxx - sx * sx) * (3 * syy - sy * sy)), 1e-6);
  EXPECT_NEAR(scored({"spearman"}, "0,1,1\n0,2,2\n0,3,3\n", four())[0], -1, 1e-9);
  // Equal scores share their rank: ranks 2, 0.5, 0.5 against 2, 1, 0.
  EXPECT_NEAR(scored({"spearman"}, "q,a,9\nq,b,3\nq,c,3\n", four())[0], std::sqrt(0.75), 1e-9);
}

TEST(EmbeddingMetricsTest, FindWhatIsRelevant) {
  const std::string truth = "q,b,2\nq,c,1\nq,a,0\n";  // found in the order a, b, c
  const auto found = scored({"recall1", "recall2", "recall3", "ndcg3", "ndcg1"}, truth, four());
  EXPECT_EQ(found[0], 0);
  EXPECT_EQ(found[1], 0.5);
  EXPECT_EQ(found[2], 1);
  EXPECT_NEAR(found[3], (2 / std::log2(3.0) + 0.5) / (2 + 1 / std::log2(3.0)), 1e-12);
  EXPECT_EQ(found[4], 0);
  EXPECT_EQ(scored({"recall1"}, "q,a\nb,a\n", four())[0], 1);  // queries are no documents
  EXPECT_TRUE(has(message("recall1", "q,a,0\n", four()), "no query has anything relevant"));
}

TEST(EmbeddingMetricsTest, CompareNearestNeighbours) {
  const test::TempFolder folder;
  const std::string path = folder / "floats.npy";
  // b is nearest to c here, and to a in four().
  const std::vector<float> other = {1, 0, 1, 0.1F, 0.2F, 1, 0, 1};
  ASSERT_TRUE(calib::write_npy(path, ir::Tensor::from<float>({4, 2}, other)).ok());
  EXPECT_EQ(test::score({"neighbours"}, {.truth_path = path}, four()).value()[0], 0.75);
  std::vector<Scored> three = four();
  three.pop_back();
  EXPECT_TRUE(has(test::score({"neighbours"}, {.truth_path = path}, three).status().message(), "--labels has 4"));
  const auto refused = [&](const ir::Shape& dims, const std::vector<float>& values) {
    EXPECT_TRUE(calib::write_npy(path, ir::Tensor::from<float>(dims, values)).ok());
    return test::score({"neighbours"}, {.truth_path = path}, four()).status().message();
  };
  EXPECT_TRUE(has(refused({4, 2}, {1, 0, 1, 1, NAN, 1, 0, 1}), "row 2 has NaN, infinity or zeros only"));
  EXPECT_TRUE(has(refused({4, 1}, {1, 2, 3, 4}), "found embeddings of 2 numbers, --labels has 1"));
}

TEST(EmbeddingMetricsTest, NanIsNeverRight) {
  std::vector<Scored> samples = four();
  samples[1] = embedding("a.npy", {NAN, 1});
  EXPECT_TRUE(std::isnan(scored({"pearson"}, "q,a,5\nq,b,4\n", samples)[0]));
  EXPECT_EQ(scored({"recall1"}, "q,a\n", samples)[0], 0);
}

TEST(EmbeddingMetricsTest, MessagesNameTheLine) {
  EXPECT_TRUE(has(message("pearson", "q,a,5\nq,d,4\n", four()), "t.csv:2: 'd' is neither a sample nor"));
  EXPECT_TRUE(has(message("pearson", "q,a,5\nq,a\n", four()), "t.csv:2: found \"q,a\", allowed is a,b,score"));
  EXPECT_TRUE(has(message("pearson", "q,a,inf\nq,b,1\n", four()), "t.csv:1: found \"q,a,inf\", allowed is a,b,score"));
  EXPECT_TRUE(has(message("pearson", "q,a,nan\nq,b,1\n", four()), "t.csv:1: found \"q,a,nan\""));
  EXPECT_TRUE(has(message("pearson", "q,a,\nq,b,1\n", four()), "t.csv:1: found \"q,a,\""));
  EXPECT_TRUE(has(message("pearson", "q,a,5,6\nq,b,1\n", four()), "t.csv:1: found \"q,a,5,6\""));
  EXPECT_TRUE(has(message("pearson", "q,a,1e300\nq,b,1\n", four()), "t.csv:1: found 1e+300, allowed are numbers from"));
  EXPECT_TRUE(has(message("recall1", "q,a,-1\n", four()), "t.csv:1: found -1, allowed are numbers from 0 to 10000"));
  EXPECT_TRUE(has(message("ndcg3", "query,document,grade\nq,a,1e9\n", four()), "t.csv:2: found 1e+09, allowed"));
  EXPECT_TRUE(has(message("recall1", "q,a,1\nq,a,2\n", four()), "t.csv:2: grades a document with 2, an earlier line"));
  EXPECT_TRUE(has(message("span_f1", "q,nan,2\nq,1,2\n", four()), "t.csv:1: found \"q,nan,2\""));
  EXPECT_TRUE(has(message("pearson", std::string("\x93NUMPY\0q", 8), four()), "t.csv: is a binary file"));
  EXPECT_TRUE(has(message("pearson", "q,a,1\n", four()), "needs two pairs"));
  std::vector<Scored> wide = four();
  wide[2] = embedding("b", {1, 2, 3});
  EXPECT_TRUE(has(message("pearson", "q,a,5\nq,c,4\n", wide), "its embeddings have 3 numbers, those before 2"));
  wide[2].second = ir::Tensor::from<float>({1, 2, 2}, std::vector<float>(4, 1.0F));
  EXPECT_TRUE(has(message("pearson", "q,a,5\nq,c,4\n", wide), "pool them in the model"));
}

/// F1 and share of exact answers of one sample with two rows of logits.
Result<std::vector<double>> spans(const std::string& truth, const std::vector<float>& starts,
                                  const std::vector<float>& ends) {
  const test::TempFolder folder;
  QQ_TRY(const auto chosen, choose_metrics({"span_f1", "span_exact"}));
  QQ_TRY(auto run, MetricRun::open(chosen, {{.truth_path = folder.write("t.csv", truth)}, 1, false}));
  const int64_t length = static_cast<int64_t>(starts.size()) / 2;
  const std::vector<std::string> outputs = {"start_logits", "end_logits"};
  const std::vector<ir::Tensor> values = {ir::Tensor::from<float>({2, length}, starts),
                                          ir::Tensor::from<float>({2, length}, ends)};
  QQ_RETURN_IF_ERROR(run.add({0, "questions", outputs, values}));
  QQ_TRY(const auto found, run.values());
  return std::vector<double>{found[0]->value, found[1]->value};
}

TEST(SpanMetricsTest, CountPositionsOfTheBestSpan) {
  // Row 0: positions 1 to 2; row 1: the end with the highest logit is before the start, so 2 to 2 wins.
  const std::vector<float> starts = {0, 5, 1, 0, 0, 0, 6, 0}, ends = {0, 1, 5, 0, 7, 0, 2, 1};
  const auto found = spans("0,1,3\n0,2,2\n1,2,2\n", starts, ends).value();
  EXPECT_NEAR(found[0], (0.8 + 1) / 2, 1e-12);
  EXPECT_EQ(found[1], 0.5);
  const std::vector<float> nothing(8, NAN);
  EXPECT_EQ(spans("0,1,3\n", nothing, nothing).value()[0], 0);
  EXPECT_TRUE(has(spans("0,3,1\n", starts, ends).status().message(), "the last position 1 is before the first, 3"));
  EXPECT_TRUE(has(spans("questions,1,3\n", starts, ends).status().message(), "has several rows of results"));
}

TEST(SpanMetricsTest, NeedsOutputsOfStartsAndEnds) {
  EXPECT_TRUE(has(message("span_f1", "q,1,3\n", four()), "no output has 'start' in its name"));
}

TEST(TokenF1Test, LeavesOutWhatIsOutsideAndPadding) {
  const test::TempFolder folder;
  const std::string path = folder / "l.npy";
  ASSERT_TRUE(calib::write_npy(path, ir::Tensor::from<int64_t>({1, 5}, std::vector<int64_t>{0, 1, 2, 2, -100})).ok());
  // Decisions 1, 1, 2, 0, 1: one false, two hits, one missed; the last does not count.
  const std::vector<float> scores = {0, 1, 0, 0, 1, 0, 0, 0, 1, 1, 0, 0, 0, 1, 0};
  const Scored sample = {"a", ir::Tensor::from<float>({1, 5, 3}, scores)};
  EXPECT_NEAR(test::score({"token_f1"}, {.truth_path = path}, {sample}).value()[0], 4.0 / 6, 1e-12);
}

}  // namespace
}  // namespace quarkq::metrics

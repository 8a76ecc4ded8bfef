// SPDX-License-Identifier: MIT
// Perplexity of a language model on the ids of its samples.
#include <gtest/gtest.h>

#include <cmath>

#include "metrics/metric_table.h"

namespace quarkq::metrics {
namespace {

constexpr int64_t kVocabulary = 4;

/// Scores rows of ids with logits that are `height` for the next number and 0 for others.
class Scores {
 public:
  Result<std::vector<double>> of(const std::vector<int64_t>& ids, const std::vector<int64_t>& mask = {}) const {
    QQ_TRY(const auto chosen, choose_metrics({"text_perplexity", "next_token"}));
    ScoringOptions options{{}, 1, false};
    options.text = model;
    QQ_TRY(auto run, MetricRun::open(chosen, options));
    const auto length = static_cast<int64_t>(ids.size());
    std::vector<float> logits(ids.size() * kVocabulary, 0);
    for (size_t i = 0; i < ids.size(); ++i)
      logits[i * kVocabulary + static_cast<size_t>((ids[i] + 1) % kVocabulary)] = static_cast<float>(height);
    const std::vector<ir::Tensor> values = {ir::Tensor::from<float>({1, length, kVocabulary}, logits)};
    std::vector<ir::Tensor> inputs = {ir::Tensor::from<int64_t>({1, length}, ids)};
    if (!mask.empty()) inputs.push_back(ir::Tensor::from<int64_t>({1, length}, mask));
    const std::vector<std::string> outputs = {"logits"};
    QQ_RETURN_IF_ERROR(run.add({0, "a", outputs, values, has_inputs ? &inputs : nullptr}));
    QQ_TRY(const auto found, run.values());
    return std::vector<double>{found[0]->value, found[1]->value};
  }
  std::optional<compare::LanguageModel> model = compare::LanguageModel{0, 0, kVocabulary};
  double height = 2;
  bool has_inputs = true;
};

double perplexity(double right, double all) {
  const double sum = std::exp(2.0) + kVocabulary - 1;
  return std::exp((std::log(sum) * all - 2 * right) / all);
}

TEST(TextMetricsTest, PredictTheNextIdOfEachPlace) {
  const std::vector<double> found = Scores().of({0, 1, 2, 0, 1}).value();
  EXPECT_NEAR(found[0], perplexity(3, 4), 1e-6);
  EXPECT_EQ(found[1], 0.75);
}

TEST(TextMetricsTest, PaddingDoesNotCount) {
  const std::vector<double> found = Scores().of({0, 1, 2, 0, 0}, {1, 1, 1, 0, 0}).value();
  EXPECT_NEAR(found[0], perplexity(2, 2), 1e-6);
  EXPECT_EQ(found[1], 1);
}

TEST(TextMetricsTest, NeedALanguageModelAndItsSamples) {
  Scores scores;
  scores.has_inputs = false;
  EXPECT_EQ(scores.of({0, 1}).status().message(), "sample a: the ids of the samples are not there");
  EXPECT_EQ(Scores().of({0, 4}).status().message(), "sample a: needs ids [batch, length] below 4");
  EXPECT_EQ(Scores().of({0}).status().code(), Code::kBadData) << "nothing to predict";
  scores.model.reset();
  EXPECT_EQ(scores.of({0, 1}).status().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace quarkq::metrics

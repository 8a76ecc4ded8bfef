// SPDX-License-Identifier: MIT
// Language models judged by text: which models are recognized, what is padding, and what the figures say. The models
// are tables of logits: the next token depends on the last one.
#include "compare/text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "compare/language_model.h"
#include "support/pass_support.h"

namespace quarkq::compare {
namespace {

constexpr int64_t kVocabulary = 8;

/// Logits that prefer the next number in a circle by `height`; `noise` is added to each.
std::string table(double height, double noise) {
  std::mt19937 generator(3);
  std::uniform_real_distribution<double> distribution(-noise, noise);
  std::string text;
  for (int64_t row = 0; row < kVocabulary; ++row) {
    for (int64_t i = 0; i < kVocabulary; ++i) {
      const double logit = (i == (row + 1) % kVocabulary ? height : 0) + distribution(generator);
      text += cat(text.empty() ? "" : ", ", logit);
    }
  }
  return text;
}

ir::Model model_with(const std::string& values, const std::string& nodes = "logits = Gather (table, ids)",
                     const std::string& more_inputs = "") {
  return test::model_of(cat("g (int64[n, length] ids", more_inputs, ") => (float[n, length, 8] logits) <float[8, 8] ",
                            "table = {", values, "}> { ", nodes, " }"));
}

/// Rows of text in which nine of ten tokens follow in the circle.
class Texts : public calib::DataReader {
 public:
  explicit Texts(size_t count, int64_t rows = 1, int64_t length = 20, double chance = 0.9)
      : count_(count), rows_(rows), length_(length), chance_(chance) {}
  size_t size() const override { return count_; }
  Result<calib::Sample> read(size_t index) const override {
    std::mt19937 generator(static_cast<uint32_t>(index) + 1);
    std::uniform_real_distribution<double> distribution(0, 1);
    std::vector<int64_t> ids;
    for (int64_t i = 0; i < rows_ * length_; ++i) {
      const bool follows = !ids.empty() && distribution(generator) < chance_;
      ids.push_back(follows ? (ids.back() + 1) % kVocabulary
                            : static_cast<int64_t>(distribution(generator) * kVocabulary));
    }
    calib::Sample sample{cat("s", index), {ir::Tensor::from<int64_t>({rows_, length_}, ids)}, {}};
    for (const ir::Tensor& tensor : more) sample.inputs.push_back(tensor);
    return sample;
  }
  std::vector<ir::Tensor> more = {};

 private:
  size_t count_;
  int64_t rows_, length_;
  double chance_;
};

ComparedText compared(const ir::Model& first, const ir::Model& second, const Texts& texts) {
  const exec::Environment environment;
  ChosenSamples samples{texts, environment, {}};
  for (size_t i = 0; i < texts.size(); ++i) samples.numbers.push_back(i);
  const auto found = compare_text(first, second, nullptr, samples);
  EXPECT_TRUE(found.ok()) << found.status().message();
  return found.ok() ? found.value() : ComparedText{};
}

TEST(LanguageModelTest, IsFoundByItsTableAndItsLogits) {
  const ir::Model plain = model_with(table(3, 0));
  EXPECT_EQ(find_language_model(plain.graph), (LanguageModel{0, 0, kVocabulary}));
  const ir::Model cast =
      test::model_of(cat("g (float[1] x, int32[1, 4] ids) => (float[1] y, float[1, 4, 8] z) ", "<float[8, 8] t = {",
                         table(3, 0), "}> { y = Relu (x) a = Cast <to = 7> (ids) z = Gather (t, a) }"));
  EXPECT_EQ(find_language_model(cast.graph), (LanguageModel{1, 1, kVocabulary})) << "other inputs and outputs";
}

TEST(LanguageModelTest, NeedsIdsATableAndLogitsOfItsRows) {
  const auto find = [](const std::string& body) { return find_language_model(test::model_of(body).graph); };
  EXPECT_FALSE(find("g (float[1, 4, 8] x) => (float[1, 4, 8] y) { y = Relu (x) }")) << "no ids";
  EXPECT_FALSE(
      find("g (int64[1, 4] i) => (float[1, 4, 2] y) <float[3, 2] t = {1, 2, 3, 4, 5, 6}> { y = Gather (t, i) }"))
      << "features, not logits";
  EXPECT_FALSE(
      find("g (int64[1, 4] i) => (float[2, 1, 4] y) <float[2, 2] t = {1, 2, 3, 4}> "
           "{ y = Gather <axis = 1> (t, i) }"))
      << "columns of a table";
  EXPECT_FALSE(find("g (int64[4] i) => (float[4, 2] y) <float[2, 2] t = {1, 2, 3, 4}> { y = Gather (t, i) }"))
      << "no batch";
}

TEST(PassageTest, MasksNarrowTheText) {
  const LanguageModel model{0, 0, kVocabulary};
  const auto spans = [&](const ir::Tensor& mask) {
    calib::Sample sample{
        "s", {ir::Tensor::from<int64_t>({2, 4}, std::vector<int64_t>{1, 2, 3, 4, 5, 6, 7, 0}), mask}, {}};
    return read_passage(model, sample).value().value().spans;
  };
  using Spans = std::vector<TextSpan>;
  const auto mask = [](ir::Shape dims, const std::vector<int64_t>& values) {
    return ir::Tensor::from<int64_t>(std::move(dims), values);
  };
  EXPECT_EQ(spans(mask({2, 4}, {1, 1, 1, 0, 0, 1, 1, 1})), (Spans{{0, 3}, {1, 4}}));
  EXPECT_EQ(spans(mask({2, 6}, {0, 0, 1, 1, 1, 1, 0, 0, 1, 1, 0, 0})), (Spans{{0, 4}, {0, 2}})) << "after a past";
  EXPECT_EQ(spans(mask({2, 4}, {0, 1, 2, 3, 0, 1, 2, 3})), (Spans{{0, 4}, {0, 4}})) << "positions";
  EXPECT_EQ(spans(mask({2, 4}, std::vector<int64_t>(8, 0))), (Spans{{0, 4}, {0, 4}})) << "types of tokens";
  EXPECT_EQ(spans(mask({2, 4}, {1, 1, 1, 1, 0, 0, 0, 0})), (Spans{{0, 4}, {4, 4}})) << "a row without text";
}

TEST(PassageTest, RejectsWhatIsNoText) {
  const auto read = [](const ir::Tensor& ids) {
    return read_passage({0, 0, kVocabulary}, {"s", {ids}, {}}).value().has_value();
  };
  EXPECT_TRUE(read(ir::Tensor::from<int32_t>({1, 2}, std::vector<int32_t>{0, 7})));
  EXPECT_FALSE(read(ir::Tensor::from<int64_t>({1, 2}, std::vector<int64_t>{0, 8}))) << "above the vocabulary";
  EXPECT_FALSE(read(ir::Tensor::from<int64_t>({1, 2}, std::vector<int64_t>{0, -1}))) << "negative";
  EXPECT_FALSE(read(ir::Tensor::from<int64_t>({2}, std::vector<int64_t>{0, 1}))) << "no batch";
}

TEST(TextTest, EqualModelsSayTheSame) {
  const ir::Model model = model_with(table(3, 0.1));
  const ComparedText found = compared(model, model, Texts(32));
  ASSERT_TRUE(found.agreement) << found.why_not;
  const TextAgreement& text = *found.agreement;
  EXPECT_EQ(text.output, "logits");
  EXPECT_EQ(text.samples, 32u);
  EXPECT_EQ(text.ids, 32u * 19u);
  EXPECT_EQ(text.expected.value, text.found.value);
  EXPECT_LT(text.expected.low, text.expected.value);
  EXPECT_GT(text.expected.high, text.expected.value);
  EXPECT_EQ(text.ratio.low, 1);
  EXPECT_EQ(text.ratio.high, 1);
  EXPECT_EQ(text.same_next, 1);
  EXPECT_EQ(text_task(text).grade, Grade::kGood);
  ASSERT_EQ(text.continuations.size(), 16u);
  for (const Continuation& one : text.continuations) {
    EXPECT_EQ(one.prompt, 10u);
    EXPECT_EQ(one.length, 10u);
    EXPECT_EQ(one.same, 10u);
    EXPECT_FALSE(one.first_difference);
  }
}

TEST(TextTest, PerplexityIsThatOfTheDefinition) {
  const ComparedText found = compared(model_with(table(3, 0)), model_with(table(1, 0)), Texts(16));
  ASSERT_TRUE(found.agreement) << found.why_not;
  const Texts texts(16);
  double follows = 0, all = 0;
  for (size_t i = 0; i < 16; ++i) {
    const std::vector<int64_t> ids = ir::to_int64(texts.read(i).value().inputs[0]).value();
    for (size_t at = 1; at < ids.size(); ++at, ++all) follows += ids[at] == (ids[at - 1] + 1) % kVocabulary ? 1 : 0;
  }
  const auto perplexity = [&](double height) {
    return std::exp(std::log(std::exp(height) + kVocabulary - 1) - height * follows / all);
  };
  EXPECT_NEAR(found.agreement->expected.value, perplexity(3), 1e-5);
  EXPECT_NEAR(found.agreement->found.value, perplexity(1), 1e-5);
  EXPECT_NEAR(found.agreement->ratio.value, perplexity(1) / perplexity(3), 1e-5);
  EXPECT_EQ(found.agreement->same_next, 1) << "the order of the logits is the same";
  const TaskAgreement task = text_task(*found.agreement);
  EXPECT_EQ(task.grade, Grade::kPoor);
  EXPECT_NE(task.text.find("more than 5 % above"), std::string::npos) << task.text;
}

TEST(TextTest, ContinuationsDifferFromTheFirstOtherToken) {
  // After token 5 the other model goes on with token 1.
  std::string changed = table(3, 0);
  ir::Model other = model_with(changed);
  ir::Tensor values = *other.graph.constant(other.graph.find("table"));
  std::vector<float> logits(values.data<float>().begin(), values.data<float>().end());
  logits[5 * kVocabulary + 1] = 9;
  std::string text;
  for (const float logit : logits) text += cat(text.empty() ? "" : ", ", logit);
  const ComparedText found = compared(model_with(table(3, 0)), model_with(text), Texts(16, 1, 20, 1));
  ASSERT_TRUE(found.agreement) << found.why_not;
  ASSERT_EQ(found.agreement->continuations.size(), 16u);
  const Texts texts(16, 1, 20, 1);
  for (size_t i = 0; i < 16; ++i) {
    const std::vector<int64_t> ids = ir::to_int64(texts.read(i).value().inputs[0]).value();
    const Continuation& one = found.agreement->continuations[i];
    // The first appended token is ids[9] + 1; the first that follows a 5 differs.
    const auto distance = static_cast<size_t>((5 - ids[9] + 2 * kVocabulary) % kVocabulary);
    ASSERT_TRUE(one.first_difference);
    EXPECT_EQ(*one.first_difference, distance) << "sample " << i;
    EXPECT_GE(one.same, distance);
    EXPECT_LT(one.same, one.length);
  }
  EXPECT_NEAR(found.agreement->same_next, 1 - 1.0 / 8, 0.03);
}

TEST(TextTest, ReadsRowsAndPadding) {
  const std::string nodes =
      "m = Cast <to = 1> (mask) a = ReduceSum <keepdims = 0> (m) zero = Sub (a, a) "
      "g = Gather (table, ids) logits = Add (g, zero)";
  const ir::Model model = model_with(table(3, 0), nodes, ", int64[n, length] mask");
  Texts texts(4, 2, 40);
  std::vector<int64_t> mask(80, 1);
  std::fill(mask.begin() + 60, mask.end(), 0);
  texts.more = {ir::Tensor::from<int64_t>({2, 40}, mask)};
  const ComparedText found = compared(model, model, texts);
  ASSERT_TRUE(found.agreement) << found.why_not;
  EXPECT_EQ(found.agreement->ids, 4u * (39 + 19));
  ASSERT_EQ(found.agreement->continuations.size(), 8u);
  EXPECT_EQ(found.agreement->continuations[1].sample, "s0 row 1");
  EXPECT_EQ(found.agreement->continuations[1].prompt, 10u);
  EXPECT_EQ(found.agreement->continuations[1].length, 10u);
}

TEST(TextTest, SaysWhyThereIsNoFigure) {
  const ir::Model model = model_with(table(3, 0));
  EXPECT_EQ(compared(model, model, Texts(2)).why_not, "the samples predict 38 tokens, at least 128 are needed");
  const std::string random = compared(model, model, Texts(32, 1, 20, 0)).why_not;
  EXPECT_NE(random.find("not text for the float model"), std::string::npos) << random;
  const ir::Model sees_all =
      model_with(table(3, 0), "g = Gather (table, ids) m = ReduceMean <axes = [1]> (g) logits = Add (g, m)");
  const ComparedText encoder = compared(sees_all, sees_all, Texts(32));
  EXPECT_FALSE(encoder.agreement);
  EXPECT_EQ(encoder.why_not, "") << "a model that sees later tokens is no language model";
}

TEST(TextTest, ModelsThatAreNotNumbersArePoor) {
  const ir::Model broken = model_with(table(3, 0), "g = Gather (table, ids) z = Sub (g, g) logits = Div (z, z)");
  const ComparedText found = compared(model_with(table(3, 0)), broken, Texts(16));
  ASSERT_TRUE(found.agreement) << found.why_not;
  EXPECT_TRUE(std::isnan(found.agreement->found.value));
  EXPECT_EQ(found.agreement->same_next, 0);
  EXPECT_EQ(text_task(*found.agreement).grade, Grade::kPoor);
}

TEST(TextFiguresTest, GradesFollowThePerplexity) {
  const auto task = [](double ratio) {
    TextAgreement text;
    text.expected = {10, 9, 11};
    text.found = {10 * ratio, 9, 11};
    text.ratio = {ratio, ratio, ratio};
    return text_task(text);
  };
  EXPECT_EQ(task(0.99).grade, Grade::kGood);
  EXPECT_EQ(task(1.0199).grade, Grade::kGood);
  EXPECT_EQ(task(1.021).grade, Grade::kFair);
  EXPECT_EQ(task(1.049).grade, Grade::kFair);
  EXPECT_EQ(task(1.051).grade, Grade::kPoor);
  EXPECT_EQ(task(1.021).text, "perplexity 10.21, float 10 (+2.1 %, 95 % interval +2.1 to +2.1 %), more than 2 % above");
  EXPECT_NEAR(task(1.25).value, 0.8, 1e-12);
}

TEST(TextFiguresTest, IntervalsNarrowWithTheSamples) {
  std::mt19937 generator(1);
  std::uniform_real_distribution<double> distribution(0.9, 1.1);
  std::vector<TextSums> samples;
  const auto width = [&](size_t count) {
    while (samples.size() < count)
      samples.push_back({20 * distribution(generator), 22 * distribution(generator), 20, 15});
    const TextAgreement text = summarize_text(samples);
    EXPECT_LE(text.ratio.low, text.ratio.value);
    EXPECT_GE(text.ratio.high, text.ratio.value);
    return text.ratio.high - text.ratio.low;
  };
  const double wide = width(8), narrow = width(512);
  EXPECT_LT(4 * narrow, wide);
  EXPECT_NEAR(summarize_text(samples).ratio.value, std::exp(0.1), 0.02);
  EXPECT_EQ(summarize_text(samples).ratio.low, summarize_text(samples).ratio.low) << "draws are fixed";
}

}  // namespace
}  // namespace quarkq::compare

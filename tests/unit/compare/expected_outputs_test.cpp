// SPDX-License-Identifier: MIT
// Outputs over several samples: mean, worst, and which samples are taken.
#include "compare/expected_outputs.h"

#include <gtest/gtest.h>

#include <cmath>

#include "onnx_io/text.h"

namespace quarkq::compare {
namespace {

using Numbers = std::vector<size_t>;

TEST(SpreadSamplesTest, AtEvenDistances) {
  EXPECT_EQ(spread_samples(20, 8), (Numbers{0, 2, 5, 7, 10, 12, 15, 17}));
  EXPECT_EQ(spread_samples(128, 4), (Numbers{0, 32, 64, 96}));
  EXPECT_EQ(spread_samples(8, 8), (Numbers{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(spread_samples(3, 8), (Numbers{0, 1, 2}));
  EXPECT_EQ(spread_samples(5, 1), (Numbers{0}));
  EXPECT_TRUE(spread_samples(0, 8).empty());
}

/// Samples of one input; "a", "b", ... are their names.
class Arrays : public calib::DataReader {
 public:
  explicit Arrays(std::vector<std::vector<float>> arrays) : arrays_(std::move(arrays)) {}
  size_t size() const override { return arrays_.size(); }
  Result<calib::Sample> read(size_t index) const override {
    const std::vector<float>& values = arrays_[index];
    calib::Sample sample;
    sample.name = std::string(1, static_cast<char>('a' + index));
    sample.inputs.push_back(ir::Tensor::from<float>({static_cast<int64_t>(values.size())}, values));
    return sample;
  }

 private:
  std::vector<std::vector<float>> arrays_;
};

ir::Model model_of(const std::string& nodes) {
  Result<ir::Model> model = onnx_io::parse_model_text(
      "<ir_version: 8, opset_import: [\"\" : 17]>\ng (float[N] x) => (float[N] y) <float one = {1}> {" + nodes + "}");
  EXPECT_TRUE(model.ok()) << model.status().message();
  return std::move(model).value();
}

OutputAgreement agreement(const std::string& quantized, const Arrays& data, const Numbers& numbers) {
  const Result<ExpectedOutputs> expected =
      ExpectedOutputs::make(model_of("y = Identity (x)"), nullptr, {data, {}, numbers});
  EXPECT_TRUE(expected.ok()) << expected.status().message();
  EXPECT_EQ(expected.value().sample_count(), numbers.size());
  Diagnostics diagnostics;
  const auto found = expected.value().compare(model_of(quantized), diagnostics);
  EXPECT_TRUE(found.ok()) << found.status().message();
  return found.value().at(0);
}

TEST(ExpectedOutputsTest, GivesMeanAndWorst) {
  const Arrays data({{1, 1}, {1, -1}, {3, -4}});  // Relu leaves cosine 1, 1/sqrt(2), 3/5
  const OutputAgreement all = agreement("y = Relu (x)", data, {0, 1, 2});
  EXPECT_NEAR(all.cosine, (1 + std::sqrt(0.5) + 0.6) / 3, 1e-12);
  EXPECT_NEAR(all.min_cosine, 0.6, 1e-12);
  EXPECT_EQ(all.worst_sample, "c");
  EXPECT_NEAR(all.sqnr_db, 10 * std::log10(29.0 / 17.0), 1e-9);  // all samples as one array
  const OutputAgreement two = agreement("y = Relu (x)", data, {0, 1});
  EXPECT_EQ(two.worst_sample, "b");
}

TEST(ExpectedOutputsTest, SamplesNearZeroHaveNoDirection) {
  const Arrays data({{1, -1}, {1, -1}, {0.001f, -0.009f}});
  const OutputAgreement some = agreement("y = Relu (x)", data, {0, 1, 2});
  EXPECT_NEAR(some.min_cosine, std::sqrt(0.5), 1e-12);  // not that of the third sample, 0.11
  EXPECT_FALSE(some.near_zero);
  const OutputAgreement outlier = agreement("y = Relu (x)", Arrays({{1, -1}, {3, -1}, {900, -900}}), {0, 1, 2});
  EXPECT_NEAR(outlier.cosine, (2 * std::sqrt(0.5) + 3 / std::sqrt(10)) / 3, 1e-12);  // one large sample hides none
  const OutputAgreement found = agreement("y = Relu (x)", Arrays({{1, -1}, {0.001f, 50}}), {0, 1});
  EXPECT_EQ(found.worst_sample, "a");
}

TEST(ExpectedOutputsTest, WhatIsNoNumberIsTheWorst) {
  const Arrays data({{1, 1}, {-1, 1}, {1, 4}, {-1, 1}});
  const OutputAgreement found = agreement("y = Sqrt (x)", data, {0, 1, 2, 3});
  EXPECT_EQ(found.different_not_finite, 2u);
  EXPECT_EQ(found.worst_sample, "b");
  EXPECT_NEAR(found.min_cosine, 0.5, 1e-12);  // one of two values can be compared
}

TEST(ExpectedOutputsTest, KnowsWhereASampleComesFrom) {
  const Arrays data({{1, 1}, {1, 2}, {1, 3}});
  const auto expected = ExpectedOutputs::make(model_of("y = Relu (x)"), nullptr, {data, {}, {0, 2}});
  ASSERT_TRUE(expected.ok());
  EXPECT_EQ(expected.value().number_of("c"), 2u);
  EXPECT_EQ(expected.value().number_of(""), 0u);
}

TEST(ExpectedOutputsTest, LeavesOutSamplesOfAnotherShape) {
  const Arrays data({{1, 2}, {5}, {3, 4}});
  const auto expected = ExpectedOutputs::make(model_of("y = Identity (x)"), nullptr, {data, {}, {0, 1, 2}});
  Diagnostics diagnostics;
  const auto found =
      expected.value().compare(model_of("s = Constant <value = int64[1] {2}> () y = Expand (x, s)"), diagnostics);
  ASSERT_TRUE(found.ok()) << found.status().message();
  ASSERT_EQ(found.value().size(), 1u);
  EXPECT_EQ(found.value()[0].cosine, 1.0);
  ASSERT_EQ(diagnostics.all().size(), 1u);
  EXPECT_EQ(diagnostics.all()[0].id, "shape-changed");
}

/// "0:a 1:b ..." of the samples as they were passed on, with the first values of both results.
Result<std::string> paired(const std::string& first, const std::string& second, const PairedSamples& samples) {
  std::string text;
  const auto add = [&](const PairedResults& results) {
    text += cat(results.number, ":", results.sample, "=", results.first[0].data<float>()[0], "|",
                results.second[0].data<float>()[0], " ");
    return Status();
  };
  QQ_RETURN_IF_ERROR(run_both(model_of(first), model_of(second), samples, add));
  return text;
}

TEST(RunBothTest, PassesResultsOnInTheOrderOfTheNumbers) {
  std::vector<std::vector<float>> arrays;
  std::string all;
  for (int i = 0; i < 26; ++i) arrays.push_back({static_cast<float>(i + 1), 0});
  const Arrays data(arrays);
  EXPECT_EQ(paired("y = Identity (x)", "y = Neg (x)", {data, {}, {2, 0, 1}}).value(), "2:c=3|-3 0:a=1|-1 1:b=2|-2 ");
  const exec::Environment environment;
  PairedSamples every{data, environment, Numbers(26)};
  for (size_t i = 0; i < 26; ++i) {
    every.numbers[i] = i;
    all += cat(i, ":", static_cast<char>('a' + i), "=", i + 1, "|", i + 1, " ");
  }
  EXPECT_EQ(paired("y = Identity (x)", "y = Identity (x)", every).value(), all) << "more than run at once";
  EXPECT_EQ(paired("y = Identity (x)", "y = Identity (x)", {data, {}, {}}).value(), "");
}

TEST(RunBothTest, TheSecondModelTakesSamplesOfItsOwn) {
  const Arrays data({{1, 2}, {3, 4}}), doubled({{2, 4}, {6, 8}});
  EXPECT_EQ(paired("y = Identity (x)", "y = Identity (x)", {data, {}, {0, 1}, &doubled}).value(), "0:a=1|2 1:b=3|6 ");
}

TEST(RunBothTest, NamesTheSampleAndTheModelThatFailed) {
  const Arrays data({{1, 2}, {3, 4, 5}});
  const exec::Environment environment;
  const PairedSamples samples{data, environment, {0, 1}, nullptr, "float.onnx", "quantized.onnx"};
  const std::string fails = "[add] y = Add (x, two)";
  Result<ir::Model> adds = onnx_io::parse_model_text(
      "<ir_version: 8, opset_import: [\"\" : 17]>\ng (float[N] x) => (float[N] y) <float[2] two = {1, 1}> {" + fails +
      "}");
  ASSERT_TRUE(adds.ok()) << adds.status().message();
  size_t seen = 0;
  const Status status = run_both(model_of("y = Identity (x)"), adds.value(), samples, [&](const PairedResults&) {
    ++seen;
    return Status();
  });
  EXPECT_EQ(seen, 1u);
  EXPECT_NE(status.message().find("sample b: quantized.onnx"), std::string::npos) << status.message();
}

}  // namespace
}  // namespace quarkq::compare

// SPDX-License-Identifier: MIT
// From samples to the ranges of tensors: votes of samples, methods that fail, values that are no numbers, float16.
#include <gtest/gtest.h>
#include <omp.h>

#include <cmath>
#include <random>

#include "calib/run_calibration.h"
#include "numeric/element_type.h"
#include "support/pass_support.h"

namespace quarkq::calib {
namespace {

/// 30 samples of [64]; every third one is sixteen times as wide.
class WideAndNarrow : public DataReader {
 public:
  size_t size() const override { return 30; }
  Result<Sample> read(size_t index) const override {
    Sample sample{cat("s", index), {ir::Tensor::allocate(type, {1, 64})}, {}};
    std::mt19937 generator(static_cast<uint32_t>(index) + 1);
    std::normal_distribution<float> normal(0, index % 3 == 0 ? 16.0f : 1.0f);
    for (int64_t i = 0; i < 64; ++i) {
      const float value = normal(generator);
      if (type == ElementType::kFloat) sample.inputs[0].mutable_data<float>()[static_cast<size_t>(i)] = value;
      if (type == ElementType::kFloat16)
        sample.inputs[0].mutable_data<uint16_t>()[static_cast<size_t>(i)] = float16_from_float(value);
    }
    return sample;
  }
  ElementType type = ElementType::kFloat;
};

class TensorRangesTest : public testing::Test {
 protected:
  ~TensorRangesTest() override { omp_set_num_threads(threads_); }

  Statistics collected(const ir::Model& model, const DataReader& reader, const CollectOptions& options) {
    SampleRunOptions run_options;
    run_options.tensors = {model.graph.find("x"), model.graph.find("y")};
    SampleRun run(model, reader, {}, run_options);
    Result<Statistics> statistics = collect_statistics(run, run_options.tensors, options);
    EXPECT_TRUE(statistics.ok()) << statistics.status().message();
    return statistics.ok() ? std::move(statistics).value() : Statistics();
  }
  static MethodOptions int8_options() {
    MethodOptions options;
    options.symmetric_range = true;
    return options;
  }

  const ir::Model doubled_ = test::model_of("g (float[1, 64] x) => (float[1, 64] y) { y = Add (x, x) }");
  int threads_ = omp_get_max_threads();
};

TEST_F(TensorRangesTest, EachSampleVotesOnceWhateverTheThreads) {
  const WideAndNarrow reader;
  std::map<ir::ValueId, std::map<int, uint64_t>> first;
  for (const int threads : {1, 2, 3}) {
    omp_set_num_threads(threads);
    Statistics all = collected(doubled_, reader, {true, int8_options()});
    ASSERT_EQ(all.size(), 2u);
    for (const auto& [tensor, statistics] : all) {
      uint64_t votes = 0;
      for (const auto& [position, count] : statistics.votes) votes += count;
      EXPECT_EQ(votes, 30u);
      EXPECT_EQ(statistics.count(), 30u * 64);
      if (threads == 1) first[tensor] = statistics.votes;
      EXPECT_EQ(statistics.votes, first[tensor]) << threads << " threads";
    }
  }
}

TEST_F(TensorRangesTest, TheScaleOfMostSamplesWins) {
  const WideAndNarrow reader;
  MethodOptions options = int8_options();
  const Statistics all = collected(doubled_, reader, {true, options});
  const ValueStatistics& seen = all.at(doubled_.graph.find("x"));
  options.minmse_mode = "MostCommon";
  const numeric::Range common = finish_power_of_two_mse(seen, options).value();
  int wanted = 0;
  uint64_t most = 0;
  for (const auto& [position, count] : seen.votes) {
    if (count >= most) most = count, wanted = position;
  }
  EXPECT_EQ(common.max, 127 * std::ldexp(1.0f, -wanted));
  EXPECT_LT(common.max, seen.extremes().max) << "twenty narrow samples outvote ten wide ones";
  // Each vote is the best scale of its sample alone.
  std::map<int, uint64_t> expected;
  for (size_t i = 0; i < reader.size(); ++i) {
    ValueStatistics one(/*with_bins=*/true);
    const ir::Tensor x = reader.read(i).value().inputs[0];
    one.add(x.data<float>().data(), x.size(), i);
    ++expected[best_position(one, options).value()];
  }
  EXPECT_EQ(seen.votes, expected);
}

TEST_F(TensorRangesTest, ModePercentileLeavesOutTheRest) {
  ValueStatistics statistics(/*with_bins=*/true);
  std::vector<float> values(10000);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 200) / 100 - 1;
  values[5000] = 1000;
  statistics.add(values.data(), static_cast<int64_t>(values.size()), 0);
  MethodOptions options = int8_options();
  options.minmse_mode = "Percentile";
  options.percentile = 99.9;
  const numeric::Range kept = finish_power_of_two_mse(statistics, options).value();
  EXPECT_LE(kept.max, 2.0f);
  EXPECT_GE(kept.max, 0.9f);
  options.percentile = 100;
  const numeric::Range whole = finish_power_of_two_mse(statistics, options).value();
  options.minmse_mode = "All";
  EXPECT_EQ(whole, finish_power_of_two_mse(statistics, options).value());
}

Result<numeric::Range> failing_method(const ValueStatistics& statistics, const MethodOptions& options) {
  if (options.num_quantized_bins == 0) return invalid_argument("NumQuantizedBins: found 0");
  if (statistics.extremes().max > 30) return bad_data("too wide");
  return numeric::Range{-1, 1};
}

TEST_F(TensorRangesTest, AMethodThatFailsGivesTheExtremesAndSaysSo) {
  const WideAndNarrow reader;
  const Statistics all = collected(doubled_, reader, {true, {}});
  const Calibrator method{config::CalibrateMethod::kEntropy, "Failing", true, failing_method, nullptr,
                          config::CalibrateMethod::kEntropy, ""};
  Diagnostics diagnostics;
  const ir::ValueId x = doubled_.graph.find("x"), y = doubled_.graph.find("y");
  ASSERT_GT(all.at(x).extremes().max, 30);
  const Result<Ranges> ranges = finish_ranges(doubled_.graph, all, method, {}, diagnostics);
  ASSERT_TRUE(ranges.ok()) << ranges.status().message();
  EXPECT_EQ(ranges.value().at(x), all.at(x).extremes());
  EXPECT_EQ(ranges.value().at(y), all.at(y).extremes());
  ASSERT_EQ(diagnostics.all().size(), 2u);
  EXPECT_EQ(diagnostics.all()[0].id, "calibration-fallback");
  EXPECT_EQ(diagnostics.all()[0].subject, "x");
  EXPECT_EQ(diagnostics.all()[0].text, "Failing failed (too wide); its smallest and largest value are used");
  MethodOptions wrong;
  wrong.num_quantized_bins = 0;
  EXPECT_EQ(finish_ranges(doubled_.graph, all, method, wrong, diagnostics).status().code(), Code::kInvalidArgument)
      << "a setting is wrong for every tensor";
}

TEST_F(TensorRangesTest, ValuesThatAreNoNumbersAreReportedWithTheirSamples) {
  ValueStatistics statistics(/*with_bins=*/false);
  const std::vector<float> good = {1, 2}, bad = {NAN, 3, -INFINITY};
  Diagnostics diagnostics;
  statistics.add(good.data(), 2, 4);
  report_non_finite("t", statistics, {}, diagnostics);
  EXPECT_TRUE(diagnostics.all().empty());
  statistics.add(bad.data(), 3, 7);
  report_non_finite("t", statistics, {{7, "cat.npy"}}, diagnostics);
  statistics.add(bad.data(), 3, 5);
  report_non_finite("t", statistics, {{7, "cat.npy"}}, diagnostics);
  ASSERT_EQ(diagnostics.all().size(), 2u);
  EXPECT_EQ(diagnostics.all()[0].text,
            "2 of 5 values are NaN or infinite (first in sample cat.npy); they are excluded from its range");
  EXPECT_EQ(
      diagnostics.all()[1].text,
      "4 of 8 values are NaN or infinite (first in sample number 5, 2 samples in all); they are excluded from its "
      "range");
  EXPECT_EQ(statistics.extremes(), (numeric::Range{1, 3}));
}

/// float16 tensors are measured as the model reads them, though they are computed in float32.
TEST_F(TensorRangesTest, HalfTensorsAreSeenAsRounded) {
  const ir::Model halves = test::model_of("g (float16[1, 64] x) => (float16[1, 64] y) { y = Mul (x, x) }");
  WideAndNarrow reader;
  reader.type = ElementType::kFloat16;
  Statistics all = collected(halves, reader, {false, {}});
  float most = 0, most_x = 0;
  for (size_t i = 0; i < reader.size(); ++i) {
    const ir::Tensor halves_of_sample = reader.read(i).value().inputs[0];
    for (const uint16_t half : halves_of_sample.data<uint16_t>()) {
      const float x = float_from_float16(half);
      most = std::max(most, float_from_float16(float16_from_float(x * x)));
      most_x = std::max(most_x, x);
    }
  }
  EXPECT_EQ(all.at(halves.graph.find("x")).extremes().max, most_x);
  EXPECT_EQ(all.at(halves.graph.find("y")).extremes().max, most);
}

}  // namespace
}  // namespace quarkq::calib

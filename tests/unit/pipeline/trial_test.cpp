// SPDX-License-Identifier: MIT
// A trial uses what calibration measured, and reports what calibration found.
#include "pipeline/trial.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>

#include "support/pass_support.h"

namespace quarkq::pipeline {
namespace {

/// One sample, whose logarithm is not a number in one place of four. Counts how often it was read.
class NegativeSample : public calib::DataReader {
 public:
  size_t size() const override { return 1; }
  Result<calib::Sample> read(size_t) const override {
    ++reads_;
    ir::Tensor tensor = ir::Tensor::zeros(ElementType::kFloat, {4});
    std::ranges::copy(std::to_array({-1.0f, 0.5f, 1.0f, 2.0f}), tensor.mutable_data<float>().begin());
    return calib::Sample{"negative", {std::move(tensor)}, {}};
  }
  size_t reads() const { return reads_; }

 private:
  mutable size_t reads_ = 0;
};

std::vector<std::string> non_finite_of(const Diagnostics& diagnostics) {
  std::vector<std::string> found;
  for (const Diagnostic& one : diagnostics.all()) {
    if (one.id == "non-finite") found.push_back(cat(one.subject, ": ", one.text));
  }
  return found;
}

TEST(TrialTest, ReportsWhatCalibrationFoundInTheSamples) {
  test::PassBench bench(test::model_of("g (float[4] x) => (float[4] y) { l = Log (x) y = Mul (l, l) }"),
                        test::settings_for("A8W8", {"QuantizeAllOpTypes=true"}));
  const NegativeSample samples;
  bench.context.source.data = &samples;
  std::vector<PassTime> times;
  ASSERT_TRUE(run_passes(bench.context, {.until = pass::Phase::kMark}, times, {}).ok());
  ASSERT_TRUE(
      run_passes(bench.context, {.from = pass::Phase::kMark, .until = pass::Phase::kRestructure}, times, {}).ok());
  const std::vector<std::string> found = non_finite_of(bench.diagnostics);
  ASSERT_EQ(found.size(), 2u) << "of l and of y";
  const size_t reads = samples.reads();

  RunState trial = trial_before_mark(bench.context);
  ASSERT_TRUE(run_passes(trial, {.from = pass::Phase::kMark, .until = pass::Phase::kRestructure}, times, {}).ok());
  EXPECT_EQ(non_finite_of(trial.diagnostics), found);
  EXPECT_EQ(samples.reads(), reads) << "nothing is measured again";
}

}  // namespace
}  // namespace quarkq::pipeline

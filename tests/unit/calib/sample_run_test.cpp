// SPDX-License-Identifier: MIT
// Samples run one after the other, or several at once: the same statistics, the same error.
#include "calib/sample_run.h"

#include <gtest/gtest.h>
#include <omp.h>

#include <atomic>
#include <cmath>
#include <map>
#include <random>

#include "calib/run_calibration.h"
#include "support/pass_support.h"

namespace quarkq::calib {
namespace {

constexpr size_t kSamples = 64;

ir::Model small_network() {
  return test::model_of(R"(g (float[1, 4, 12, 12] x) => (float[1, 4, 12, 12] y) {
        a = Mul(x, x)
        b = Relu(x)
        c = Add(a, b)
        y = Sigmoid(c)
      })");
}

/// Random samples; one may be unreadable, one may hold a NaN.
class RandomSamples : public DataReader {
 public:
  size_t size() const override { return kSamples; }
  Result<Sample> read(size_t index) const override {
    if (index == unreadable) return bad_data("sample ", index, ": unreadable");
    Sample sample;
    sample.name = cat("s", index);
    ir::Tensor tensor = ir::Tensor::allocate(ElementType::kFloat, {1, 4, 12, 12});
    std::mt19937 generator(static_cast<uint32_t>(index));
    std::normal_distribution<float> normal;
    for (float& value : tensor.mutable_data<float>()) value = normal(generator);
    if (index == with_nan) tensor.mutable_data<float>()[5] = NAN;
    sample.inputs.push_back(std::move(tensor));
    sample.files.push_back(cat("s", index, ".npy"));
    return sample;
  }
  size_t unreadable = kSamples, with_nan = kSamples;
};

class SampleRunTest : public testing::Test {
 protected:
  SampleRunTest() : model_(small_network()) {
    for (const char* name : {"x", "a", "b", "c", "y"}) tensors_.push_back(model_.graph.find(name));
    std::sort(tensors_.begin(), tensors_.end());
  }
  ~SampleRunTest() override { omp_set_num_threads(threads_); }

  Result<Statistics> collect(int threads, std::function<bool(size_t, size_t)> progress = {}) {
    omp_set_num_threads(threads);
    SampleRunOptions options;
    options.tensors = tensors_;
    options.progress = std::move(progress);
    SampleRun run(model_, reader_, {}, std::move(options));
    EXPECT_EQ(run.worthwhile_sinks(), static_cast<size_t>(threads));
    return collect_statistics(run, tensors_, {.with_bins = true, .votes = {}});
  }

  ir::Model model_;
  RandomSamples reader_;
  std::vector<ir::ValueId> tensors_;
  const int threads_ = omp_get_max_threads();
};

TEST_F(SampleRunTest, SeveralAtOnceSeeTheSame) {
  const Result<Statistics> one = collect(1);
  ASSERT_TRUE(one.ok()) << one.status().message();
  for (const int threads : {2, 3, 5}) {
    const Result<Statistics> several = collect(threads);
    ASSERT_TRUE(several.ok()) << several.status().message();
    for (const auto& [tensor, seen] : one.value()) {
      EXPECT_EQ(several.value().at(tensor).records(), seen.records());
      EXPECT_EQ(several.value().at(tensor).bin_counts(), seen.bin_counts());
    }
  }
}

TEST_F(SampleRunTest, TheFirstBadSampleIsTheOneReported) {
  reader_.unreadable = 23;
  reader_.with_nan = 21;
  for (const int threads : {1, 2, 3}) {
    for (int round = 0; round < 5; ++round) {
      const Result<Statistics> found = collect(threads);
      ASSERT_FALSE(found.ok());
      EXPECT_EQ(found.status().code(), Code::kBadData);
      EXPECT_NE(found.status().message().find("s21.npy"), std::string::npos) << found.status().message();
    }
  }
}

TEST_F(SampleRunTest, AnInterruptEndsIt) {
  for (const int threads : {1, 3}) {
    std::atomic<size_t> calls = 0;
    const Result<Statistics> found = collect(threads, [&](size_t done, size_t total) {
      ++calls;
      EXPECT_EQ(total, kSamples);
      return done < 10;
    });
    EXPECT_EQ(found.status().code(), Code::kInterrupted);
    EXPECT_EQ(calls, 10u);
  }
}

TEST_F(SampleRunTest, FewSamplesAreRunByOneProgram) {
  omp_set_num_threads(8);
  SampleRunOptions options;
  options.tensors = tensors_;
  options.samples = {0, 1, 2, 3, 4, 5, 6, 7};
  const SampleRun run(model_, reader_, {}, options);
  EXPECT_EQ(run.worthwhile_sinks(), 1u);
}

/// Keeps all it is given.
class EverySink : public SampleSink {
 public:
  Status observe(ir::ValueId tensor, uint64_t, std::span<const float> values) override {
    seen[tensor].assign(values.begin(), values.end());
    return Status();
  }
  std::map<ir::ValueId, std::vector<float>> seen;
};

TEST(SampleOrderTest, ThinnedIsAPartOfOnnxOrder) {
  ir::Model model = test::model_of(R"(g (float[2, 3, 96, 40] x) => (float[2, 3, 96, 40] y)
      <float[3, 3, 1, 1] w = {1, 2, 3, 4, 5, 6, 7, 8, 9}> {
        a = Conv(x, w)
        y = Relu(a)
      })");
  class One : public DataReader {
   public:
    size_t size() const override { return 1; }
    Result<Sample> read(size_t) const override {
      ir::Tensor tensor = ir::Tensor::allocate(ElementType::kFloat, {2, 3, 96, 40});
      float next = -10;
      for (float& value : tensor.mutable_data<float>()) value = next += 0.001f;
      return Sample{"s", {std::move(tensor)}, {"s.npy"}};
    }
  } reader;
  const auto observed = [&](ValueOrder order) {
    SampleRunOptions options;
    for (const char* name : {"a", "x", "y"}) options.tensors.push_back(model.graph.find(name));
    options.order = order;
    EverySink sink;
    EXPECT_TRUE(SampleRun(model, reader, {}, std::move(options)).pass(sink).ok());
    return sink.seen;
  };
  const auto all = observed(ValueOrder::kOnnx), part = observed(ValueOrder::kThinned);
  for (const auto& [tensor, values] : all) {
    EXPECT_EQ(part.at(tensor), thinned(values));
    EXPECT_LT(part.at(tensor).size(), values.size());
  }
}

}  // namespace
}  // namespace quarkq::calib

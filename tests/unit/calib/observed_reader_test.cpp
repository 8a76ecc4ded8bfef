// SPDX-License-Identifier: MIT
#include "calib/observed_reader.h"

#include <gtest/gtest.h>

#include <limits>

namespace quarkq::calib {
namespace {

using ir::Tensor;

/// Samples of one input from memory.
class Given : public DataReader {
 public:
  explicit Given(std::vector<Tensor> samples) : samples_(std::move(samples)) {}
  size_t size() const override { return samples_.size(); }
  Result<Sample> read(size_t index) const override { return Sample{cat(index), {samples_[index]}, {}}; }

 private:
  std::vector<Tensor> samples_;
};

InputSummary summary_of(std::vector<Tensor> samples, const std::vector<size_t>& order) {
  const ObservedReader reader(std::make_unique<Given>(std::move(samples)), {{"x", ElementType::kFloat, false, {}}});
  for (const size_t index : order) EXPECT_TRUE(reader.read(index).ok());
  const std::vector<InputSummary> all = reader.summary();
  EXPECT_EQ(all.size(), 1u);
  return all.empty() ? InputSummary() : all[0];
}

Tensor input_floats(ir::Shape dims, std::vector<float> values) { return Tensor::from<float>(std::move(dims), values); }

TEST(ObservedReaderTest, SumsByChannelOfImages) {
  const Tensor image = input_floats({1, 3, 1, 2}, {1, 3, 10, 10, -2, 2});
  const InputSummary planes = summary_of({image}, {0});
  EXPECT_EQ(planes.mean, (std::vector<double>{2, 10, 0}));
  EXPECT_EQ(planes.deviation, (std::vector<double>{1, 0, 2}));
  EXPECT_EQ(planes.least, -2);
  EXPECT_EQ(planes.most, 10);
  const InputSummary last = summary_of({input_floats({1, 1, 2, 3}, {1, 10, -2, 3, 10, 2}).reshaped({1, 2, 1, 3})}, {0});
  EXPECT_EQ(last.mean, (std::vector<double>{2, 10, 0}));
  EXPECT_EQ(summary_of({input_floats({2, 5}, std::vector<float>(10, 3))}, {0}).mean, std::vector<double>{3});
}

TEST(ObservedReaderTest, EachSampleCountsOnceInAnyOrder) {
  const std::vector<Tensor> samples = {input_floats({1}, {0.1f}), input_floats({1}, {0.7f}), input_floats({1}, {1e8f})};
  const InputSummary once = summary_of(samples, {0, 1, 2}), often = summary_of(samples, {2, 0, 2, 1, 0});
  EXPECT_EQ(once.samples, 3u);
  EXPECT_EQ(often.samples, 3u);
  EXPECT_EQ(once.mean, often.mean);
  EXPECT_EQ(once.deviation, often.deviation);
  EXPECT_EQ(summary_of(samples, {1}).samples, 1u);
}

TEST(ObservedReaderTest, DimensionsThatDifferAreUnknown) {
  const InputSummary two = summary_of(
      {input_floats({1, 3, 1, 2}, std::vector<float>(6)), input_floats({1, 3, 2, 2}, std::vector<float>(12))}, {0, 1});
  EXPECT_EQ(two.dims, (ir::Shape{1, 3, -1, 2}));
  EXPECT_TRUE(two.is_constant());
  EXPECT_EQ(summary_of({input_floats({2}, {1, 2}), input_floats({1, 3, 1, 1}, {1, 2, 3})}, {0, 1}).dims, ir::Shape{});
}

TEST(ObservedReaderTest, ReadsEveryKindOfNumberAndNoOther) {
  EXPECT_EQ(summary_of({Tensor::from<uint8_t>({2}, std::vector<uint8_t>{0, 255})}, {0}).mean,
            std::vector<double>{127.5});
  EXPECT_EQ(summary_of({Tensor::from<int64_t>({2}, std::vector<int64_t>{-3, 5})}, {0}).least, -3);
  EXPECT_EQ(summary_of({Tensor::from<int8_t>({2}, std::vector<int8_t>{-128, 127})}, {0}).mean,
            std::vector<double>{-0.5});
  EXPECT_EQ(summary_of({Tensor::from<int32_t>({2}, std::vector<int32_t>{-7, INT32_MAX})}, {0}).most, INT32_MAX);
  Tensor half = Tensor::zeros(ElementType::kFloat16, {2});
  half.mutable_data<uint16_t>()[0] = 0xC000;  // -2
  EXPECT_EQ(summary_of({half}, {0}).least, -2);
  EXPECT_EQ(summary_of({Tensor::from<double>({1}, std::vector<double>{0.25})}, {0}).most, 0.25);
  const float nan = std::numeric_limits<float>::quiet_NaN(), infinity = std::numeric_limits<float>::infinity();
  const InputSummary finite = summary_of({input_floats({3}, {nan, 2, infinity})}, {0});
  EXPECT_EQ(finite.most, 2);
  EXPECT_EQ(finite.mean, std::vector<double>{2});
  EXPECT_EQ(summary_of({input_floats({0}, {})}, {0}).mean, std::vector<double>{0});
}

}  // namespace
}  // namespace quarkq::calib

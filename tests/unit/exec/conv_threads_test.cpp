// SPDX-License-Identifier: MIT
// Convolutions of all kinds give the same bits for any number of threads: what oneDNN is asked for must not depend on
// it, nor the order of its sums.
#include <gtest/gtest.h>
#include <omp.h>

#include <cstring>
#include <optional>

#include "base/random.h"
#include "exec/convolution.h"
#include "support/conv_problems.h"

namespace quarkq::exec {
namespace {

constexpr int kThreads[] = {1, 2, 3, 5, 8, 16};

using test::add_axis;

std::vector<float> random_values(NumpyRandom& random, int64_t size) {
  std::vector<float> values(static_cast<size_t>(size));
  for (float& value : values) value = static_cast<float>(random.uniform() * 2 - 1);
  return values;
}

/// Made and run with so many threads. Empty: not possible, which is a failure.
std::vector<float> run_conv(const ConvProblem& p, const std::vector<float>& x, const std::vector<float>& w,
                            int threads) {
  omp_set_num_threads(threads);
  const auto made = Convolution::make(p, w.data());
  EXPECT_TRUE(made.ok()) << made.status().message();
  if (!made.ok()) return {};
  return test::results_of(*made.value(), p, {.source = x.data()});
}

/// A small problem of any kind; nothing when the draw makes no sense.
std::optional<ConvProblem> draw(NumpyRandom& random, size_t axes) {
  const int64_t in = random.integer(1, 40), out = random.integer(1, 40);
  const int64_t groups = random.integer(0, 3) == 0 ? random.integer(2, 4) : 1;
  ConvProblem p = test::conv_of_channels(random.integer(1, 2), groups * in, groups * out);
  p.groups = groups;
  p.transposed = random.integer(0, 4) == 0;
  p.weights = p.transposed ? ir::Shape{groups * in, out} : ir::Shape{groups * out, in};
  for (size_t i = 0; i < axes; ++i) {
    const int64_t kernel = random.integer(1, 5), dilation = random.integer(0, 5) == 0 ? 2 : 1;
    const int64_t size = random.integer(3, 16), stride = random.integer(1, 2);
    const int64_t begin = random.integer(0, kernel - 1), end = random.integer(0, kernel - 1);
    if (!add_axis(p, {size, kernel, stride, dilation, begin, end})) return {};
  }
  return p;
}

class ConvThreadsTest : public testing::Test {
 protected:
  ~ConvThreadsTest() override { omp_set_num_threads(before_); }

  void expect_same_bits(const ConvProblem& p) {
    const std::vector<float> x = random_values(random(), product(p.source)),
                             w = random_values(random(), product(p.weights));
    const std::vector<float> one = run_conv(p, x, w, 1);
    ASSERT_FALSE(one.empty()) << "source " << testing::PrintToString(p.source);
    for (const int threads : kThreads) {
      const std::vector<float> many = run_conv(p, x, w, threads);
      ASSERT_EQ(one.size(), many.size());
      EXPECT_EQ(std::memcmp(one.data(), many.data(), one.size() * sizeof(float)), 0)
          << "source " << testing::PrintToString(p.source) << ", weights " << testing::PrintToString(p.weights)
          << ", pads " << testing::PrintToString(p.pads_begin) << testing::PrintToString(p.pads_end) << ", " << threads
          << " threads";
    }
  }

  NumpyRandom& random() { return random_; }

 private:
  NumpyRandom random_{17};
  int before_ = omp_get_max_threads();
};

TEST_F(ConvThreadsTest, OneAxisWithWidePads) {
  ConvProblem p = test::conv_of_channels(1, 4, 5);
  ASSERT_TRUE(add_axis(p, {9, 4, 1, 1, 2, 1}));
  expect_same_bits(p);
}

TEST_F(ConvThreadsTest, ManyChannels) {
  ConvProblem p = test::conv_of_channels(1, 316, 10);
  ASSERT_TRUE(add_axis(p, {4, 3, 1, 1, 1, 1}) && add_axis(p, {30, 3, 1, 1, 1, 1}));
  expect_same_bits(p);
}

/// Which the backend computes in a layout of oneDNN's with AVX-512.
TEST_F(ConvThreadsTest, PixelsThatShareSetsOfTheCache) {
  ConvProblem wide = test::conv_of_channels(2, 1024, 40);
  ASSERT_TRUE(add_axis(wide, {5, 3, 1, 1, 1, 1}) && add_axis(wide, {14, 3, 1, 1, 1, 1}));
  ConvProblem odd = test::conv_of_channels(1, 512, 21);
  ASSERT_TRUE(add_axis(odd, {5, 3, 2, 1, 1, 1}) && add_axis(odd, {37, 3, 2, 1, 1, 1}));
  ConvProblem line = test::conv_of_channels(1, 512, 32);
  ASSERT_TRUE(add_axis(line, {90, 3, 2, 1, 1, 1}));
  ConvProblem grouped = test::conv_of_channels(1, 1024, 96);
  grouped.groups = 2;
  grouped.weights = {96, 512};
  ASSERT_TRUE(add_axis(grouped, {4, 3, 1, 1, 1, 1}) && add_axis(grouped, {14, 3, 1, 1, 1, 1}));
  for (const ConvProblem& p : {wide, odd, line, grouped}) expect_same_bits(p);
}

TEST_F(ConvThreadsTest, SmallShapesOfAllRanks) {
  for (const size_t axes : {1u, 2u, 3u}) {
    int compared = 0;
    for (int i = 0; i < 150; ++i) {
      const std::optional<ConvProblem> p = draw(random(), axes);
      if (!p) continue;
      ++compared;
      expect_same_bits(*p);
      if (HasFatalFailure()) return;
    }
    EXPECT_GT(compared, 100) << axes;
  }
}

}  // namespace
}  // namespace quarkq::exec

// SPDX-License-Identifier: MIT
// Integer product loops against 64-bit sums, on every instruction set this machine has.
#include "exec/kernels/quantized/quantized_loops.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace quarkq::exec {
namespace {

struct Loops {
  Isa isa;
  decltype(&sse41::integer_products) products;
  decltype(&sse41::requantize_to_i8) to_i8;
  decltype(&sse41::requantize_to_u8) to_u8;
  decltype(&sse41::widen_i8) widen_i8;
  decltype(&sse41::widen_u8) widen_u8;
};
#define QQ_LOOPS(kind, name)                                                                                          \
  Loops {                                                                                                             \
    Isa::kind, name::integer_products, name::requantize_to_i8, name::requantize_to_u8, name::widen_i8, name::widen_u8 \
  }

std::vector<Loops> available() {
  std::vector<Loops> loops;
  for (const Loops& candidate : {QQ_LOOPS(kSse41, sse41), QQ_LOOPS(kAvx2, avx2), QQ_LOOPS(kAvx512, avx512)}) {
    if (candidate.isa <= isa()) loops.push_back(candidate);
  }
  return loops;
}

std::vector<int16_t> operands(int64_t count, uint32_t seed) {
  std::mt19937 generator(seed);
  std::vector<int16_t> values(static_cast<size_t>(count));
  for (int16_t& value : values) value = static_cast<int16_t>(static_cast<int>(generator() % 511) - 255);
  return values;
}

TEST(QuantizedLoopsTest, ProductsAreExact) {
  for (const int64_t depth : {0, 1, 7, 16, 33, 300}) {
    for (int64_t rows = 1; rows <= kProductRows; ++rows) {
      constexpr int64_t kColumns = 5;
      const std::vector<int16_t> x = operands(rows * depth, 1), w = operands(kColumns * depth, 2);
      for (const Loops& loops : available()) {
        std::vector<int32_t> sums(static_cast<size_t>(rows * kColumns), -1);
        loops.products(x.data(), w.data(), {rows, depth, kColumns}, sums.data());
        for (int64_t i = 0; i < rows * kColumns; ++i) {
          int64_t sum = 0;
          for (int64_t k = 0; k < depth; ++k) {
            sum += int64_t{x[static_cast<size_t>(i / kColumns * depth + k)]} *
                   w[static_cast<size_t>(i % kColumns * depth + k)];
          }
          ASSERT_EQ(sums[static_cast<size_t>(i)], sum);
        }
      }
    }
  }
}

template <typename Q, typename Requantize>
void check_requantize(Requantize requantize, int32_t zero_point) {
  std::vector<int32_t> sums = {
      0, 1, -1, 3, 5, -5, 100000, -100000, std::numeric_limits<int32_t>::max(), std::numeric_limits<int32_t>::lowest()};
  std::vector<float> scale(sums.size(), 0.5f);
  std::vector<Q> y(sums.size());
  requantize(sums.data(), y.data(), static_cast<int64_t>(sums.size()), Requantization{scale.data(), zero_point});
  for (size_t i = 0; i < sums.size(); ++i) {
    const double steps = std::nearbyint(static_cast<double>(static_cast<float>(sums[i]) * scale[i]));
    const double wanted =
        std::fmin(std::fmax(steps + zero_point, std::numeric_limits<Q>::lowest()), std::numeric_limits<Q>::max());
    ASSERT_EQ(static_cast<double>(y[i]), wanted) << sums[i];
  }
}

TEST(QuantizedLoopsTest, RequantizesHalfToEven) {
  for (const Loops& loops : available()) {
    for (const int32_t zero_point : {0, 3, 127}) {
      check_requantize<int8_t>(loops.to_i8, zero_point);
      check_requantize<uint8_t>(loops.to_u8, zero_point);
    }
    check_requantize<int8_t>(loops.to_i8, -128);
    check_requantize<uint8_t>(loops.to_u8, 255);
  }
}

TEST(QuantizedLoopsTest, WidensAndTakesTheZeroPointOff) {
  for (const Loops& loops : available()) {
    std::vector<int8_t> s;
    std::vector<uint8_t> u;
    for (int i = 0; i < 256; ++i) s.push_back(static_cast<int8_t>(i)), u.push_back(static_cast<uint8_t>(i));
    std::vector<int16_t> y(256);
    loops.widen_i8(s.data(), y.data(), 256, -128);
    for (size_t i = 0; i < 256; ++i) ASSERT_EQ(y[i], s[i] + 128);
    loops.widen_u8(u.data(), y.data(), 256, 255);
    for (size_t i = 0; i < 256; ++i) ASSERT_EQ(y[i], u[i] - 255);
  }
}

}  // namespace
}  // namespace quarkq::exec

// SPDX-License-Identifier: MIT
// Vectorized loops of the float path against their scalar definitions, on every instruction set this machine has and
// for lengths around the width of a vector.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "exec/kernels/elementwise/elementwise_loops.h"
#include "exec/kernels/elementwise/unary_loops.h"
#include "exec/kernels/image/image_loops.h"
#include "exec/kernels/norm/norm_loops.h"
#include "exec/kernels/shape/index_loops.h"
#include "exec/transpose.h"
#include "support/every_isa.h"

namespace quarkq::exec {
namespace {

using test::kInfinity;
using test::kLengths;
using test::kNan;
using test::random_values;

TEST(FloatLoopsTest, SelectionTakesTheSideOfTheCondition) {
  for (const int64_t n : kLengths) {
    std::vector<uint8_t> condition(static_cast<size_t>(n));
    std::vector<uint32_t> a(condition.size()), b(condition.size());
    for (size_t i = 0; i < a.size(); ++i) {
      condition[i] = i * 7 % 3 == 0 ? 2 : 0;
      a[i] = static_cast<uint32_t>(i);
      b[i] = static_cast<uint32_t>(1000000 + i);
    }
    for (int steps = 0; steps < 8; ++steps) {
      const SelectedRow by{n, steps & 1, steps >> 1 & 1, steps >> 2 & 1};
      const auto check = [&](decltype(&sse41::select_row<uint32_t>) loop) {
        std::vector<uint32_t> y(a.size());
        loop(condition.data(), a.data(), b.data(), y.data(), by);
        for (int64_t i = 0; i < n; ++i) {
          const bool left = condition[static_cast<size_t>(i * by.condition)] != 0;
          ASSERT_EQ(y[static_cast<size_t>(i)],
                    left ? a[static_cast<size_t>(i * by.a)] : b[static_cast<size_t>(i * by.b)]);
        }
      };
      QQ_ON_EVERY_ISA(select_row<uint32_t>, check);
    }
  }
}

TEST(FloatLoopsTest, CommonPowersAreThoseOfTheLibrary) {
  const std::vector<float> x = {0, -0.0f, 1, -1, 3, -3, 0.25f, kInfinity, -kInfinity, kNan, 1e-20f, 7e18f};
  for (const float exponent : {2.0f, 3.0f, 0.5f, -0.5f, -1.0f}) {
    const auto check = [&](decltype(&sse41::power_loop) loop) {
      std::vector<float> y(x.size());
      loop(exponent, x.data(), y.data(), static_cast<int64_t>(x.size()));
      for (size_t i = 0; i < x.size(); ++i) {
        const float expected = std::pow(x[i], exponent);
        if (std::isnan(expected)) {
          EXPECT_TRUE(std::isnan(y[i])) << x[i] << "^" << exponent;
        } else if (std::isinf(expected) || expected == 0.0f) {
          EXPECT_EQ(y[i], expected) << x[i] << "^" << exponent;
          EXPECT_EQ(std::signbit(y[i]), std::signbit(expected)) << x[i] << "^" << exponent;
        } else {
          EXPECT_NEAR(y[i] / expected, 1.0f, 3e-7f) << x[i] << "^" << exponent;
        }
      }
    };
    QQ_ON_EVERY_ISA(power_loop, check);
  }
}

template <typename T>
void check_integers() {
  using Limits = std::numeric_limits<T>;
  std::vector<float> x = {
      0,       -0.5f,   0.99f,    -1,        1.5f,       126.9f, 127,           128,           -128,
      -129,    255.5f,  256,      32767.5f,  65535,      65536,  2147483520.0f, 2147483648.0f, -2147483648.0f,
      9.2e18f, 9.3e18f, -9.3e18f, kInfinity, -kInfinity, kNan};
  for (const float value : random_values(100, 3, -70000, 70000)) x.push_back(value);
  const auto check = [&](decltype(&sse41::integers_from_floats<T>) loop) {
    std::vector<T> y(x.size());
    loop(x.data(), y.data(), static_cast<int64_t>(x.size()));
    for (size_t i = 0; i < x.size(); ++i) {
      const auto wide = static_cast<long double>(x[i]);
      T expected = 0;
      if (wide >= static_cast<long double>(Limits::max())) {
        expected = Limits::max();
      } else if (wide <= static_cast<long double>(Limits::lowest())) {
        expected = Limits::lowest();
      } else if (!std::isnan(x[i])) {
        expected = static_cast<T>(x[i]);
      }
      EXPECT_EQ(y[i], expected) << x[i];
    }
  };
  QQ_ON_EVERY_ISA(integers_from_floats<T>, check);
}

TEST(FloatLoopsTest, CastsTruncateAndClamp) {
  check_integers<int8_t>();
  check_integers<uint8_t>();
  check_integers<int16_t>();
  check_integers<uint16_t>();
  check_integers<int32_t>();
  check_integers<int64_t>();
}

TEST(FloatLoopsTest, IndicesAreCheckedOneByOne) {
  for (const int64_t n : kLengths) {
    const auto check = [n](decltype(&sse41::indices_inside) inside) {
      std::vector<int64_t> indices(static_cast<size_t>(n), 4);
      indices.front() = -5;
      EXPECT_TRUE(inside(indices.data(), n, 5));
      for (const int64_t wrong : {int64_t{5}, int64_t{-6}, INT64_MAX, INT64_MIN}) {
        for (const size_t place : {size_t{0}, indices.size() / 2, indices.size() - 1}) {
          std::vector<int64_t> broken = indices;
          broken[place] = wrong;
          EXPECT_FALSE(inside(broken.data(), n, 5)) << wrong << " at " << place;
        }
      }
    };
    QQ_ON_EVERY_ISA(indices_inside, check);
  }
}

TEST(FloatLoopsTest, TransposingReachesEveryElement) {
  for (const auto& [rows, columns] :
       {std::pair{1, 5}, {2, 40}, {3, 35}, {35, 3}, {40, 2}, {8, 8}, {16, 17}, {33, 21}, {70, 9}}) {
    for (const int64_t extra : {0, 3}) {
      const int64_t from_stride = columns + extra, to_stride = rows + extra;
      std::vector<uint32_t> x(static_cast<size_t>(rows * from_stride));
      for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<uint32_t>(i + 1);
      const auto check = [&, rows = rows, columns = columns](decltype(&sse41::transpose_4) loop) {
        std::vector<uint32_t> y(static_cast<size_t>(columns * to_stride), 0);
        loop(x.data(), y.data(), {from_stride, to_stride, rows, columns});
        for (int64_t i = 0; i < columns * to_stride; ++i) {
          const int64_t c = i / to_stride, r = i % to_stride;
          ASSERT_EQ(y[static_cast<size_t>(i)], r < rows ? x[static_cast<size_t>(r * from_stride + c)] : 0);
        }
      };
      QQ_ON_EVERY_ISA(transpose_4, check);
    }
  }
}

// ---- rows and windows -----------------------------------------------------------------------------------------------

TEST(FloatLoopsTest, SoftmaxOfEveryLength) {
  for (const int64_t n : kLengths) {
    std::vector<float> x = random_values(n, 5, -30, 30);
    if (n > 2) x[1] = -kInfinity;  // a masked place
    for (const bool log : {false, true}) {
      double sum = 0;
      for (const float value : x) sum += std::exp(static_cast<double>(value));
      const double total = std::log(sum);
      const auto check = [&](decltype(&sse41::softmax_row) loop) {
        std::vector<float> y(x.size());
        loop(x.data(), y.data(), n, log);
        for (size_t i = 0; i < x.size(); ++i) {
          const double exact = static_cast<double>(x[i]) - total;
          const double expected = log ? exact : std::exp(exact);
          if (std::isinf(expected)) {
            EXPECT_EQ(static_cast<double>(y[i]), expected);
          } else {
            EXPECT_NEAR(static_cast<double>(y[i]), expected, 2e-6 * std::max(1.0, std::fabs(expected)));
          }
        }
      };
      QQ_ON_EVERY_ISA(softmax_row, check);
    }
  }
}

template <typename T>
void check_windows() {
  const std::vector<int64_t> offsets = {0, 700, 300, 900};
  for (const int64_t channels : {1, 3, 16, 24, 64, 65, 200}) {
    std::vector<T> x(1200);
    for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<T>(static_cast<int>(i * 37 % 251) - 100);
    const auto check = [&](decltype(&sse41::max_rows<T>) loop) {
      std::vector<T> y(static_cast<size_t>(channels));
      loop(x.data(), {offsets.data(), 4, channels}, y.data());
      for (size_t c = 0; c < y.size(); ++c) {
        ASSERT_EQ(y[c], std::max(std::max(x[c], x[c + 700]), std::max(x[c + 300], x[c + 900])));
      }
    };
    QQ_ON_EVERY_ISA(max_rows<T>, check);
  }
}

TEST(FloatLoopsTest, LargestOfWindows) {
  check_windows<float>();
  check_windows<double>();
  check_windows<int8_t>();
  check_windows<uint8_t>();
}

TEST(FloatLoopsTest, AverageOfWindows) {
  const std::vector<int64_t> offsets = {0, 700, 300};
  for (const int64_t channels : {1, 16, 24, 64, 200}) {
    const std::vector<float> x = random_values(1000);
    const auto check = [&](decltype(&sse41::average_rows<float>) loop) {
      std::vector<float> y(static_cast<size_t>(channels));
      loop(x.data(), {offsets.data(), 3, channels}, 0.25f, y.data());
      for (size_t c = 0; c < y.size(); ++c) ASSERT_EQ(y[c], ((x[c] + x[c + 700]) + x[c + 300]) * 0.25f);
    };
    QQ_ON_EVERY_ISA(average_rows<float>, check);
  }
}

TEST(FloatLoopsTest, AnglesOfEverySize) {
  std::vector<float> x = random_values(300, 7, -10, 10);
  for (const float value : random_values(300, 8, -1e6f, 1e6f)) x.push_back(value);
  for (const float value : {0.0f, -0.0f, 1.5707964f, 3.1415927f, 1e-30f, 1e7f, 1e30f, kInfinity, kNan})
    x.push_back(value);
  for (const Unary op : {Unary::kSin, Unary::kCos, Unary::kTan, Unary::kAtan, Unary::kAsin, Unary::kAcos}) {
    const auto check = [&](decltype(&sse41::unary_loop) loop) {
      std::vector<float> y(x.size());
      loop({op}, x.data(), y.data(), static_cast<int64_t>(x.size()));
      for (size_t i = 0; i < x.size(); ++i) {
        const double expected = unary_double({op}, static_cast<double>(x[i]));
        if (std::isnan(expected)) {
          EXPECT_TRUE(std::isnan(y[i])) << x[i];
        } else {
          EXPECT_NEAR(static_cast<double>(y[i]), expected, 1e-7 * std::max(std::fabs(expected), 1e-30)) << x[i];
        }
      }
    };
    QQ_ON_EVERY_ISA(unary_loop, check);
  }
}

}  // namespace
}  // namespace quarkq::exec

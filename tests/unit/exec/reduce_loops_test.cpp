// SPDX-License-Identifier: MIT
// Vectorized reductions against their scalar definitions, on every instruction set this machine has.
#include "exec/kernels/reduce/reduce_loops.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "support/every_isa.h"

namespace quarkq::exec {
namespace {

using test::kInfinity;
using test::kLengths;
using test::kNan;
using test::random_values;

double reduced(Reduce op, const float* x, int64_t n, int64_t step) {
  double total = op == Reduce::kMax ? -kInfinity : op == Reduce::kMin ? kInfinity : 0;
  double sum_of_exp = 0;
  for (int64_t i = 0; i < n; ++i) {
    const auto v = static_cast<double>(x[i * step]);
    sum_of_exp += std::exp(v);
    if (op == Reduce::kMax) total = std::max(total, v);
    if (op == Reduce::kMin) total = std::min(total, v);
    if (op == Reduce::kSum) total += v;
    if (op == Reduce::kL1) total += std::fabs(v);
    if (op == Reduce::kL2) total += v * v;
  }
  return op == Reduce::kLogSumExp ? std::log(sum_of_exp) : total;
}

constexpr Reduce kReductions[] = {Reduce::kSum, Reduce::kMax, Reduce::kMin,
                                  Reduce::kL1,  Reduce::kL2,  Reduce::kLogSumExp};

TEST(ReduceLoopsTest, RowsReduceToTheirDefinition) {
  for (const int64_t n : kLengths) {
    const std::vector<float> x = random_values(n);
    for (const Reduce op : kReductions) {
      const double expected = reduced(op, x.data(), n, 1);
      const auto check = [&](decltype(&sse41::reduce_row) loop) {
        EXPECT_NEAR(loop(op, x.data(), n), expected, 1e-6 * (1 + reduced(Reduce::kL2, x.data(), n, 1)))
            << n << " op " << static_cast<int>(op);
      };
      QQ_ON_EVERY_ISA(reduce_row, check);
    }
  }
}

TEST(ReduceLoopsTest, ColumnsReduceToTheirDefinition) {
  constexpr int64_t kStride = 70;
  for (const int64_t rows : {1, 2, 300}) {
    const std::vector<float> x = random_values(rows * kStride);
    for (const int64_t columns : {int64_t{1}, int64_t{21}, kReduceColumns}) {
      for (const Reduce op : kReductions) {
        const auto check = [&](decltype(&sse41::reduce_columns) loop) {
          double totals[kReduceColumns];
          loop(op, {x.data(), rows, kStride, columns}, totals);
          for (int64_t c = 0; c < columns; ++c)
            ASSERT_NEAR(totals[c], reduced(op, x.data() + c, rows, kStride),
                        1e-6 * (1 + reduced(Reduce::kL2, x.data() + c, rows, kStride)));
        };
        QQ_ON_EVERY_ISA(reduce_columns, check);
      }
    }
  }
}

TEST(ReduceLoopsTest, ExtremesKeepNanAndInfinity) {
  for (const int64_t n : kLengths) {
    for (const int64_t place : {int64_t{0}, n / 2, n - 1}) {
      std::vector<float> x = random_values(n);
      x[static_cast<size_t>(place)] = kNan;
      const auto check = [&](decltype(&sse41::reduce_row) loop) {
        for (const Reduce op : {Reduce::kMax, Reduce::kMin, Reduce::kLogSumExp}) {
          EXPECT_TRUE(std::isnan(loop(op, x.data(), n))) << n << " at " << place;
        }
      };
      QQ_ON_EVERY_ISA(reduce_row, check);
    }
  }
  const std::vector<float> x = {-kInfinity, -kInfinity};
  EXPECT_EQ(sse41::reduce_row(Reduce::kLogSumExp, x.data(), 2), -static_cast<double>(kInfinity));
}

/// The element that ArgMax and ArgMin name.
int64_t extreme_place(Extreme extreme, const float* x, int64_t n, int64_t step) {
  int64_t best = 0;
  for (int64_t i = 1; i < n && !std::isnan(x[best * step]); ++i) {
    const float value = x[i * step], old = x[best * step];
    const bool better = extreme.largest ? value > old : value < old;
    if (better || std::isnan(value) || (extreme.last && value == old)) best = i;
  }
  return best;
}

TEST(ReduceLoopsTest, PlacesOfExtremesFollowTheDefinition) {
  for (const int64_t n : kLengths) {
    for (uint32_t seed = 1; seed <= 3; ++seed) {
      std::vector<float> x = random_values(n * 5, seed);
      for (float& value : x) value = std::round(value);  // so that there are equal ones
      if (seed == 3) x[x.size() / 2] = x[x.size() - 1] = kNan;
      for (const Extreme extreme : {Extreme{true, false}, {true, true}, {false, false}, {false, true}}) {
        const auto check_row = [&](decltype(&sse41::extreme_of_row) loop) {
          EXPECT_EQ(loop(extreme, x.data() + 4 * n, n), extreme_place(extreme, x.data() + 4 * n, n, 1));
        };
        QQ_ON_EVERY_ISA(extreme_of_row, check_row);
        const auto check_columns = [&](decltype(&sse41::extreme_of_columns) loop) {
          int64_t places[4];
          loop(extreme, {x.data(), n, 5, 4}, places);
          for (int64_t c = 0; c < 4; ++c) ASSERT_EQ(places[c], extreme_place(extreme, x.data() + c, n, 5));
        };
        QQ_ON_EVERY_ISA(extreme_of_columns, check_columns);
      }
    }
  }
}

}  // namespace
}  // namespace quarkq::exec

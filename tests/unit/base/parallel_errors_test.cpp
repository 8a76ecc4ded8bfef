// SPDX-License-Identifier: MIT
#include "base/parallel_errors.h"

#include <gtest/gtest.h>

#include <array>
#include <new>

namespace quarkq {
namespace {

TEST(ParallelErrorsTest, TakesAnExceptionOutOfALoop) {
  ParallelErrors errors;
  std::array<int, 64> done{};
#pragma omp parallel for num_threads(4)
  for (int i = 0; i < 64; ++i) {
    errors.run([&] {
      if (i % 16 == 3) throw std::bad_alloc();
      done[static_cast<size_t>(i)] = 1;
    });
  }
  EXPECT_THROW(errors.rethrow(), std::bad_alloc);
  for (int i = 0; i < 64; ++i) EXPECT_EQ(done[static_cast<size_t>(i)], i % 16 == 3 ? 0 : 1) << i;
}

TEST(ParallelErrorsTest, DoesNothingWhereNothingIsThrown) {
  ParallelErrors errors;
  errors.run([] {});
  EXPECT_NO_THROW(errors.rethrow());
}

}  // namespace
}  // namespace quarkq

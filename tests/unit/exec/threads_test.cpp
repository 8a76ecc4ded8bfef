// SPDX-License-Identifier: MIT
// How many threads a run has, in its regions and for samples side by side.
#include "exec/resources.h"

#include <gtest/gtest.h>
#include <omp.h>

#include "base/parallel.h"

namespace quarkq::exec {
namespace {

class ThreadCountTest : public testing::Test {
 protected:
  ~ThreadCountTest() override { omp_set_num_threads(before_); }

 private:
  int before_ = omp_get_max_threads();
};

TEST_F(ThreadCountTest, ANumberAskedForIsTaken) {
  EXPECT_EQ(set_threads(3).threads, 3);
  EXPECT_EQ(omp_get_max_threads(), 3);
  EXPECT_EQ(independent_threads(), 3);
}

TEST_F(ThreadCountTest, IndependentWorkHasNoFewerThanRegions) {
  const ThreadChoice choice = set_threads(0);
  EXPECT_EQ(omp_get_max_threads(), choice.threads);
  EXPECT_GE(independent_threads(), choice.threads);
  EXPECT_EQ(independent_threads() > choice.threads, choice.why.find("samples run at once") != std::string::npos)
      << choice.why;
}

TEST_F(ThreadCountTest, APartHasItsShare) {
  set_threads(4);
  std::vector<int> found(2);
  on_threads(2, [&](size_t i) {
    omp_set_num_threads(2);
    found[i] = independent_threads();
  });
  EXPECT_EQ(found, (std::vector<int>{2, 2}));
}

}  // namespace
}  // namespace quarkq::exec

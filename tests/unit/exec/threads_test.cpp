// SPDX-License-Identifier: MIT
// How many threads a run has, in its regions and for samples side by side.
#include "exec/environment.h"

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
  const Environment environment = Environment::begin(3, 0);
  EXPECT_EQ(environment.threads.threads, 3);
  EXPECT_EQ(omp_get_max_threads(), 3);
  EXPECT_EQ(environment.independent_threads(), 3);
}

TEST_F(ThreadCountTest, IndependentWorkHasNoFewerThanRegions) {
  const Environment environment = Environment::begin(0, 0);
  const ThreadChoice& choice = environment.threads;
  EXPECT_EQ(omp_get_max_threads(), choice.threads);
  EXPECT_GE(environment.independent_threads(), choice.threads);
  EXPECT_EQ(environment.independent_threads() > choice.threads,
            choice.why.find("samples run at once") != std::string::npos)
      << choice.why;
}

TEST_F(ThreadCountTest, EarlierRunsDoNotBoundThoseThatChoose) {
  const int most = Environment::begin(0, 0).threads.independent;
  set_threads(1);
  EXPECT_EQ(Environment::begin(0, 0).threads.independent, most);
}

TEST_F(ThreadCountTest, APartHasItsShare) {
  const Environment environment = Environment::begin(4, 0);
  std::vector<int> found(2);
  on_threads(2, [&](size_t i) {
    omp_set_num_threads(2);
    found[i] = environment.independent_threads();
  });
  EXPECT_EQ(found, (std::vector<int>{2, 2}));
}

}  // namespace
}  // namespace quarkq::exec

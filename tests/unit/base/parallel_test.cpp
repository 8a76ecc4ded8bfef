// SPDX-License-Identifier: MIT
#include "base/parallel.h"

#include <gtest/gtest.h>
#include <omp.h>

#include <array>
#include <atomic>
#include <mutex>
#include <new>
#include <set>
#include <utility>

namespace quarkq {
namespace {

const Team kTeams[] = {{.threads = 1}, {.threads = 4}, {3, Share::kAsFree}, {}};

TEST(ParallelTest, RunsEachPassOnce) {
  for (const Team& team : kTeams) {
    for (const int64_t count : {0, 1, 2, 65}) {
      std::array<std::atomic<int>, 65> done{};
      parallel_for(count, team, [&](int64_t i) { ++done[static_cast<size_t>(i)]; });
      for (int64_t i = 0; i < 65; ++i) EXPECT_EQ(done[static_cast<size_t>(i)], i < count ? 1 : 0) << i;
    }
  }
}

TEST(ParallelTest, NumbersThreadsWithinTheTeam) {
  for (const Team& team : {Team{.threads = 1}, Team{.threads = 3}, Team{3, Share::kAsFree}}) {
    std::atomic<int> outside = 0;
    parallel_for(4, {.threads = 2}, [&](int64_t) {  // inside of a region, where a team of one has another number
      parallel_for(9, team, [&](int64_t, int thread) { outside += thread < 0 || thread >= team.threads; });
    });
    EXPECT_EQ(outside, 0);
  }
}

TEST(ParallelTest, ThrowsWhatAPassThrew) {
  for (const Team& team : kTeams) {
    const auto pass = [](int64_t i) {
      if (i == 40) throw std::bad_alloc();
    };
    EXPECT_THROW(parallel_for(64, team, pass), std::bad_alloc);
    EXPECT_THROW(parallel_pieces(64, 8, team, [&](int64_t begin, int64_t) { pass(begin); }), std::bad_alloc);
  }
}

TEST(ParallelTest, PiecesDoNotDependOnThreads) {
  using Pieces = std::set<std::pair<int64_t, int64_t>>;
  const auto pieces_of = [](int64_t count, const Team& team) {
    Pieces pieces;
    std::mutex mutex;
    parallel_pieces(count, 10, team, [&](int64_t begin, int64_t end) {
      const std::lock_guard lock(mutex);
      pieces.emplace(begin, end);
    });
    return pieces;
  };
  for (const Team& team : kTeams) {
    EXPECT_EQ(pieces_of(25, team), (Pieces{{0, 10}, {10, 20}, {20, 25}}));
    EXPECT_EQ(pieces_of(20, team), (Pieces{{0, 10}, {10, 20}}));
    EXPECT_EQ(pieces_of(0, team), Pieces{});
  }
}

TEST(ParallelTest, ThrowsWhatAThreadThrew) {
  for (const size_t failing : {0, 1, 2}) {
    std::atomic<int> ended = 0;
    const auto body = [&](size_t i) {
      if (i == failing) throw std::bad_alloc();
      ++ended;
    };
    EXPECT_THROW(on_threads(3, body), std::bad_alloc);
    EXPECT_EQ(ended, 2);
  }
}

TEST(ParallelTest, TheCallersNumberOfThreadsIsKept) {
  const int before = omp_get_max_threads();
  on_threads(2, [&](size_t) { omp_set_num_threads(before + 3); });
  EXPECT_EQ(omp_get_max_threads(), before);
  EXPECT_THROW(on_threads(2, [&](size_t) { omp_set_num_threads(before + 3), throw std::bad_alloc(); }), std::bad_alloc);
  EXPECT_EQ(omp_get_max_threads(), before);
}

}  // namespace
}  // namespace quarkq

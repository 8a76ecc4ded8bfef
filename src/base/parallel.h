// SPDX-License-Identifier: MIT
// Loops over several threads. No exception may leave a parallel region or a thread: the program, or the process that
// uses the library, would end there. So every loop and every team of threads under src/ is written with these functions
// (tests/lint/parallel.py), which throw in the calling thread what a body threw, most of all that memory ran out.
#pragma once

#include <omp.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <thread>
#include <type_traits>
#include <vector>

namespace quarkq {

/// Takes exceptions out of code that several threads run.
class ParallelErrors {
 public:
  /// Calls body(), by any number of threads at once; keeps the first exception.
  template <typename Body>
  void run(const Body& body) noexcept {
    try {
      body();
    } catch (...) {
      if (!is_taken_.exchange(true)) first_ = std::current_exception();
    }
  }

  /// After the threads have met: throws what was kept.
  void rethrow() const {
    if (first_ != nullptr) std::rethrow_exception(first_);
  }

 private:
  std::atomic<bool> is_taken_{false};
  std::exception_ptr first_;
};

enum class Share {
  kEven,    ///< as many passes for each thread: for passes of the same length
  kAsFree,  ///< a thread that is done takes the next pass
};

struct Team {
  int threads = 0;  ///< at most; 0: as many as OpenMP has, 1: the calling thread alone
  Share share = Share::kEven;
};

/// Calls body(i), or body(i, thread) with thread in [0, team.threads), for each i of [0, count), by several threads.
/// What a body throws comes out here, after the other passes.
template <typename Body>
void parallel_for(int64_t count, Team team, const Body& body) {
  const auto pass = [&body](int64_t i, auto thread) {
    if constexpr (std::is_invocable_v<const Body&, int64_t, int>) {
      body(i, thread());
    } else {
      body(i);
    }
  };
  const int threads = team.threads > 0 ? team.threads : omp_get_max_threads();
  if (threads == 1 || count < 2) {
    for (int64_t i = 0; i < count; ++i) pass(i, [] { return 0; });
    return;
  }
  ParallelErrors errors;
  if (team.share == Share::kEven) {
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t i = 0; i < count; ++i) errors.run([&] { pass(i, omp_get_thread_num); });
  } else {
#pragma omp parallel for schedule(dynamic) num_threads(threads)
    for (int64_t i = 0; i < count; ++i) errors.run([&] { pass(i, omp_get_thread_num); });
  }
  errors.rethrow();
}
template <typename Body>
void parallel_for(int64_t count, const Body& body) {
  parallel_for(count, Team{}, body);
}

/// Calls body(begin, end) for pieces of [0, count), by several threads. Pieces do not depend on the number of threads.
/// REQUIRES: piece > 0.
template <typename Body>
void parallel_pieces(int64_t count, int64_t piece, Team team, const Body& body) {
  const auto one = [&](int64_t i) { body(i * piece, std::min(count, (i + 1) * piece)); };
  parallel_for(count / piece + (count % piece > 0 ? 1 : 0), team, one);
}

/// Calls body(i) for each i of [0, count) at the same time, each on a thread of its own, 0 on the calling one, and
/// returns when all are done. What a body throws comes out here. Threads of OpenMP belong to the thread that calls it,
/// so each body sets their number.
template <typename Body>
void on_threads(size_t count, const Body& body) {
  ParallelErrors errors;
  {
    std::vector<std::jthread> others;  // joined, too, when there is no memory for one more of them
    for (size_t i = 1; i < count; ++i) others.emplace_back([&errors, &body, i] { errors.run([&] { body(i); }); });
    errors.run([&] { body(0); });
  }
  errors.rethrow();
}

}  // namespace quarkq

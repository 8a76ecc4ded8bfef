// SPDX-License-Identifier: MIT
// Loops over several threads. No exception may leave a parallel region or a thread: the program, or the process that
// uses the library, would end there. So every loop and every team of threads under src/ is written with these functions
// (tests/lint/parallel.py), which throw in the calling thread what a body threw, most of all that memory ran out.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace quarkq {

enum class Share {
  kEven,    ///< as many passes for each thread: for passes of the same length
  kAsFree,  ///< a thread that is done takes the next pass
};

struct Team {
  int threads = 0;  ///< at most; 0: as many as OpenMP has, 1: the calling thread alone
  Share share = Share::kEven;
};

namespace internal {

/// What loops and teams call, with the body in a plain function, so that they are compiled once and not for each body.
using Pass = void (*)(const void* body, int64_t i, int thread);
void run_passes(int64_t count, Team team, const void* body, Pass pass);
void run_on_threads(size_t count, const void* body, Pass pass);

}  // namespace internal

/// Calls body(i), or body(i, thread) with thread in [0, team.threads), for each i of [0, count), by several threads.
/// What a body throws comes out here, after the other passes.
template <typename Body>
void parallel_for(int64_t count, Team team, const Body& body) {
  internal::run_passes(count, team, &body, [](const void* erased, int64_t i, [[maybe_unused]] int thread) {
    const Body& call = *static_cast<const Body*>(erased);
    if constexpr (std::is_invocable_v<const Body&, int64_t, int>) {
      call(i, thread);
    } else {
      call(i);
    }
  });
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
/// so each body sets their number; the calling thread gets its own back.
template <typename Body>
void on_threads(size_t count, const Body& body) {
  internal::run_on_threads(count, &body, [](const void* erased, int64_t i, int) {
    (*static_cast<const Body*>(erased))(static_cast<size_t>(i));
  });
}

}  // namespace quarkq

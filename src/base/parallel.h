// SPDX-License-Identifier: MIT
// Loops over several threads. An exception that leaves a parallel region or a thread would end the program, or the
// process that uses the library. Every loop and every team of threads under src/ is therefore written with these
// functions (tests/lint/parallel.py). They rethrow an exception of a body, typically std::bad_alloc, in the calling
// thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace quarkq {

enum class Share {
  kEven,    ///< Every thread runs the same number of passes: for passes of equal length.
  kAsFree,  ///< A thread that has finished takes the next pass.
};

struct Team {
  int threads = 0;  ///< Upper bound; 0: as many as OpenMP provides, 1: only the calling thread.
  Share share = Share::kEven;
};

namespace internal {

/// Non-template entry points of loops and teams. The body is a plain function, so that they are compiled only once.
using Pass = void (*)(const void* body, int64_t i, int thread);
void run_passes(int64_t count, Team team, const void* body, Pass pass);
void run_on_threads(size_t count, const void* body, Pass pass);

}  // namespace internal

/// Calls body(i), or body(i, thread) with thread in [0, team.threads), for each i of [0, count) on several threads.
/// Rethrows an exception of a body after the other passes.
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

/// Calls body(begin, end) for pieces of [0, count) on several threads. Pieces do not depend on the number of threads.
/// REQUIRES: piece > 0.
template <typename Body>
void parallel_pieces(int64_t count, int64_t piece, Team team, const Body& body) {
  const auto one = [&](int64_t i) { body(i * piece, std::min(count, (i + 1) * piece)); };
  parallel_for(count / piece + (count % piece > 0 ? 1 : 0), team, one);
}

/// Calls body(i) for each i of [0, count) at the same time, each on its own thread, 0 on the calling thread, and
/// returns when all are done. Rethrows an exception of a body. OpenMP's number of threads belongs to the calling
/// thread, so each body sets its own; the calling thread's number is restored.
template <typename Body>
void on_threads(size_t count, const Body& body) {
  internal::run_on_threads(count, &body, [](const void* erased, int64_t i, int) {
    (*static_cast<const Body*>(erased))(static_cast<size_t>(i));
  });
}

}  // namespace quarkq

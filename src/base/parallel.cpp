// SPDX-License-Identifier: MIT
#include "base/parallel.h"

#include <omp.h>

#include <atomic>
#include <exception>
#include <thread>
#include <vector>

namespace quarkq::internal {
namespace {

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

/// Gives the calling thread its number of OpenMP threads back.
class KeptThreads {
 public:
  KeptThreads() : threads_(omp_get_max_threads()) {}
  ~KeptThreads() { omp_set_num_threads(threads_); }
  KeptThreads(const KeptThreads&) = delete;
  KeptThreads& operator=(const KeptThreads&) = delete;

 private:
  int threads_;
};

}  // namespace

void run_passes(int64_t count, Team team, const void* body, Pass pass) {
  const int threads = team.threads > 0 ? team.threads : omp_get_max_threads();
  if (threads == 1 || count < 2) {
    for (int64_t i = 0; i < count; ++i) pass(body, i, 0);
    return;
  }
  ParallelErrors errors;
  if (team.share == Share::kEven) {
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t i = 0; i < count; ++i) errors.run([&] { pass(body, i, omp_get_thread_num()); });
  } else {
#pragma omp parallel for schedule(dynamic) num_threads(threads)
    for (int64_t i = 0; i < count; ++i) errors.run([&] { pass(body, i, omp_get_thread_num()); });
  }
  errors.rethrow();
}

void run_on_threads(size_t count, const void* body, Pass pass) {
  const KeptThreads kept;
  ParallelErrors errors;
  {
    std::vector<std::jthread> others;  // joined, too, when there is no memory for one more of them
    for (size_t i = 1; i < count; ++i) {
      others.emplace_back([&errors, body, pass, i] { errors.run([&] { pass(body, static_cast<int64_t>(i), 0); }); });
    }
    errors.run([&] { pass(body, 0, 0); });
  }
  errors.rethrow();
}

}  // namespace quarkq::internal

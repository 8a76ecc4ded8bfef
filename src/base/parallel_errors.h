// SPDX-License-Identifier: MIT
// ParallelErrors: takes exceptions, most of all of memory that runs out, out of a parallel loop. None may leave it: the
// program, or the process that uses the library, would end there.
#pragma once

#include <atomic>
#include <exception>

namespace quarkq {

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

  /// After the loop: throws what was kept.
  void rethrow() const {
    if (first_ != nullptr) std::rethrow_exception(first_);
  }

 private:
  std::atomic<bool> is_taken_{false};
  std::exception_ptr first_;
};

}  // namespace quarkq

// SPDX-License-Identifier: MIT
// Decoding of samples in separate threads before they are requested, so that the model does not wait for files.
#pragma once

#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "calib/data_reader.h"
#include "exec/environment.h"
#include "ir/graph.h"

namespace quarkq::calib {

/// Returns the number of programs for `samples` samples, each using a part of the threads: this avoids waiting inside
/// operators, but each program needs its own weights. Each runs at least `least_each` samples. Returns at least 1.
size_t worthwhile_programs(const ir::Graph& graph, const exec::Environment& environment, size_t samples,
                           size_t least_each);

class ReadAhead {
 public:
  /// Reads the samples `indices` of `reader` in that order on `threads` threads; at most `depth` of them are stored or
  /// being read. Both count as 1 if 0. REQUIRES: `reader` outlives the object; every index < reader.size().
  ReadAhead(const DataReader& reader, std::vector<size_t> indices, size_t threads, size_t depth);
  /// Waits for the samples being read; does not begin the others.
  ~ReadAhead();
  ReadAhead(const ReadAhead&) = delete;
  ReadAhead& operator=(const ReadAhead&) = delete;

  bool is_done() const { return taken_ == indices_.size(); }
  /// Returns the next sample, or the error of reading it; later samples are still returned. Throws what the reader
  /// threw for it. REQUIRES: !is_done(), one thread calls.
  Result<Sample> next();

 private:
  /// Result of reading one sample: one of the two is set.
  struct Outcome {
    std::optional<Result<Sample>> sample;
    std::exception_ptr thrown;
  };

  void work();
  Outcome read(size_t index) const noexcept;

  const DataReader& reader_;
  const std::vector<size_t> indices_;
  size_t taken_ = 0;  ///< Written only by next(), under the mutex.
  size_t begun_ = 0;  ///< Number of samples that threads have begun.
  bool is_stopping_ = false;
  std::vector<std::optional<Outcome>> slots_;  ///< Sample k waits in slot k % depth.
  std::mutex mutex_;
  std::condition_variable has_room_, has_sample_;
  std::vector<std::thread> threads_;
};

}  // namespace quarkq::calib

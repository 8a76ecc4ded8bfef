// SPDX-License-Identifier: MIT
// Samples decoded on threads of their own before they are asked for, so that the model does not wait for files.
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

// How many samples are worth running at once.

/// Programs that run `samples` samples, each on a part of the threads: that costs no waiting inside operators, but a
/// program with its weights for each. None runs fewer than `least_each` samples; at least 1.
size_t worthwhile_programs(const ir::Graph& graph, const exec::Environment& environment, size_t samples,
                           size_t least_each);

class ReadAhead {
 public:
  /// Reads `reader`'s samples `indices` in that order on `threads` threads; at most `depth` of them are held or in the
  /// making. Both count as 1 when 0. REQUIRES: `reader` outlives the object; every index < reader.size().
  ReadAhead(const DataReader& reader, std::vector<size_t> indices, size_t threads, size_t depth);
  /// Waits for the samples being read; the others are not begun.
  ~ReadAhead();
  ReadAhead(const ReadAhead&) = delete;
  ReadAhead& operator=(const ReadAhead&) = delete;

  bool is_done() const { return taken_ == indices_.size(); }
  /// The next sample, or why it could not be read; those after it still come. Throws what the reader threw for it.
  /// REQUIRES: !is_done(), one thread calls.
  Result<Sample> next();

 private:
  /// How the reading of one sample ended: one of the two is set.
  struct Outcome {
    std::optional<Result<Sample>> sample;
    std::exception_ptr thrown;
  };

  void work();
  Outcome read(size_t index) const noexcept;

  const DataReader& reader_;
  const std::vector<size_t> indices_;
  size_t taken_ = 0;  ///< written by next() only, under the mutex
  size_t begun_ = 0;  ///< samples that a thread has taken on
  bool is_stopping_ = false;
  std::vector<std::optional<Outcome>> slots_;  ///< sample k waits in slot k % depth
  std::mutex mutex_;
  std::condition_variable has_room_, has_sample_;
  std::vector<std::thread> threads_;
};

}  // namespace quarkq::calib

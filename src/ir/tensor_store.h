// SPDX-License-Identifier: MIT
// Tensors in memory up to a limit, the rest in a temporary file private to the process.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/residency.h"
#include "ir/tensor.h"

namespace quarkq::ir {

class TensorStore {
 public:
  /// `folder` is the location of the temporary file; empty: the system's folder.
  explicit TensorStore(std::string folder = "") : folder_(std::move(folder)) {}
  ~TensorStore();
  TensorStore(const TensorStore&) = delete;

  /// Stores the tensor. The returned number identifies it until drop().
  Result<int> keep(const Tensor& tensor);
  Result<Tensor> get(int number) const;
  void drop(int number);

  /// Sets the bytes that may stay in memory, initially 0. Tensors beyond the limit are written to the file immediately.
  Status set_limit(int64_t bytes);

  int64_t bytes_in_memory() const { return in_memory_; }
  int64_t bytes_on_disk() const { return end_of_file_; }

 private:
  struct Entry {
    Tensor tensor;  ///< Undefined while it is on disk.
    ElementType type = ElementType::kUndefined;
    ir::Shape dims;
    int64_t offset = -1, bytes = 0;
  };
  Status spill(const Tensor& tensor, Entry& entry);

  std::string folder_;
  int64_t limit_ = std::numeric_limits<int64_t>::max(), in_memory_ = 0, end_of_file_ = 0;
  int file_ = -1;
  std::vector<Entry> entries_;
  std::vector<int> free_numbers_;
  std::multimap<int64_t, int64_t> free_places_;  ///< Size -> offset.
};

/// Storage for large computed constants of a graph: a mapped temporary file. Graphs of small models have no store and
/// keep everything in memory.
class WeightStore {
 public:
  /// If `file` is null, computed constants stay in memory. At most about `resident` bytes of mapped weights, including
  /// loaded models, are resident while the store exists.
  WeightStore(std::shared_ptr<SpillFile> file, size_t resident) : file_(std::move(file)), limit_(resident) {}

  /// Returns `data` backed by the file if it is large and owns its memory. Otherwise, and if the disk is full, returns
  /// `data` unchanged.
  Tensor settle(Tensor data);

 private:
  std::shared_ptr<SpillFile> file_;
  ResidencyLimit limit_;
};

}  // namespace quarkq::ir

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
  /// `folder`: of the temporary file; empty: the system's.
  explicit TensorStore(std::string folder = "") : folder_(std::move(folder)) {}
  ~TensorStore();
  TensorStore(const TensorStore&) = delete;

  /// Keeps the tensor; the number stands for it until drop().
  Result<int> keep(const Tensor& tensor);
  Result<Tensor> get(int number) const;
  void drop(int number);

  /// Bytes that may be in memory; none by itself. The rest is written to the file at once.
  Status set_limit(int64_t bytes);

  int64_t bytes_in_memory() const { return in_memory_; }
  int64_t bytes_on_disk() const { return end_of_file_; }

 private:
  struct Entry {
    Tensor tensor;  ///< undefined while it is on disk
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
  std::multimap<int64_t, int64_t> free_places_;  ///< size to offset
};

/// Where the large constants of a graph are kept once they are computed: in a temporary file, mapped. Graphs of small
/// models have none and keep everything in memory.
class WeightStore {
 public:
  /// `file` may be null: then constants that are computed stay in memory. At most about `resident` bytes of mapped
  /// weights are resident while the store lives, those of loaded models included.
  WeightStore(std::shared_ptr<SpillFile> file, size_t resident) : file_(std::move(file)), limit_(resident) {}

  /// `data` from the file, when it is large and its buffer is memory of its own; else, and where the disk is full,
  /// `data`.
  Tensor settle(Tensor data);

 private:
  std::shared_ptr<SpillFile> file_;
  ResidencyLimit limit_;
};

}  // namespace quarkq::ir

// SPDX-License-Identifier: MIT
// Tensors in memory up to a limit, the rest in a temporary file private to the process.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "base/error.h"
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

}  // namespace quarkq::ir

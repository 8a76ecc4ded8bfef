// SPDX-License-Identifier: MIT
// Tensors in memory up to a budget, the rest in a temporary file that nobody else sees.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "base/error.h"
#include "ir/tensor.h"

namespace quarkq::passes::finetune {

class TensorStore {
 public:
  /// 0: a quarter of the machine's memory.
  explicit TensorStore(int64_t budget);
  ~TensorStore();
  TensorStore(const TensorStore&) = delete;

  /// Keeps the tensor; the number stands for it until drop().
  Result<int> keep(const ir::Tensor& tensor);
  Result<ir::Tensor> get(int number) const;
  void drop(int number);

  int64_t bytes_in_memory() const { return in_memory_; }
  int64_t bytes_on_disk() const { return end_of_file_; }

 private:
  struct Entry {
    ir::Tensor tensor;  ///< undefined while it is on disk
    ElementType type = ElementType::kUndefined;
    ir::Shape dims;
    int64_t offset = -1, bytes = 0;
  };
  Status spill(const ir::Tensor& tensor, Entry& entry);

  int64_t budget_, in_memory_ = 0, end_of_file_ = 0;
  int file_ = -1;
  std::vector<Entry> entries_;
  std::vector<int> free_numbers_;
  std::multimap<int64_t, int64_t> free_places_;  ///< size to offset
};

}  // namespace quarkq::passes::finetune

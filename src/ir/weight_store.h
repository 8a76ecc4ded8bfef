// SPDX-License-Identifier: MIT
// Where the large constants of a graph are kept once they are computed: in a temporary file, mapped. Graphs of small
// models have none and keep everything in memory.
#pragma once

#include <memory>

#include "base/residency.h"
#include "base/spill_file.h"
#include "ir/tensor.h"

namespace quarkq::ir {

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

// SPDX-License-Identifier: MIT
// How much of the samples' values may stay in memory, so that the whole process stays within a budget.
#pragma once

#include "config/finetune_settings.h"
#include "ir/tensor_store.h"

namespace quarkq::planning::finetune {

class MemoryBudget {
 public:
  /// What the process has taken by now is counted to stay.
  explicit MemoryBudget(const config::FinetuneSettings& options);

  /// Called before the values of a unit with samples of this size are collected and trained with: the store leaves
  /// room for that, and for what a tape holds beside.
  Status make_room(int64_t sample_bytes, int64_t inner_bytes, ir::TensorStore& store);

  /// Between two layers: memory that is free goes back to the system once the process has half of the budget. Before,
  /// the next layer takes it over, which spares the system to clear it again.
  void give_back() const;

  int64_t bytes() const { return budget_; }
  /// The budget is less than what the work itself takes.
  bool is_too_small() const { return !keeps_on_disk_ && budget_ < taken_ + work_; }

 private:
  bool stays_in_memory_, keeps_on_disk_;
  int64_t budget_, taken_, work_ = 0;
};

}  // namespace quarkq::planning::finetune

// SPDX-License-Identifier: MIT
#include "planning/tune/memory_budget.h"

#include <malloc.h>

#include <algorithm>

#include "base/system_memory.h"
#include "exec/memory_guard.h"

namespace quarkq::planning::finetune {
namespace {

constexpr int64_t kShareOfMachine = 4;
/// The memory for running and training a block, in sizes of its inputs and outputs for one sample (measured: 8).
constexpr int64_t kWorkPerSample = 12;
constexpr int64_t kWorkPerInner = 2;  // a tape's values and gradients, and what its operators keep
constexpr int64_t kShareOfHoles = 8;  // of the budget, lost between blocks of memory (measured: 1/12)

int64_t resident_bytes() { return static_cast<int64_t>(resident_memory().all); }

}  // namespace

MemoryBudget::MemoryBudget(const config::FinetuneSettings& options)
    : stays_in_memory_(options.stays_in_memory),
      keeps_on_disk_(options.keeps_on_disk && !options.stays_in_memory),
      budget_(options.memory_budget > 0 ? options.memory_budget : exec::allowed_memory(0) / kShareOfMachine),
      taken_(resident_bytes()) {}

void MemoryBudget::give_back() const {
  if (resident_bytes() > budget_ / 2) malloc_trim(0);
}

Status MemoryBudget::make_room(int64_t sample_bytes, int64_t inner_bytes, ir::TensorStore& store) {
  const int64_t work = kWorkPerSample * sample_bytes + kWorkPerInner * inner_bytes;
  if (work_ > 0 && work <= work_) return Status();
  work_ = work;
  if (stays_in_memory_) return Status();
  return store.set_limit(keeps_on_disk_ ? 0 : std::max<int64_t>(0, budget_ - budget_ / kShareOfHoles - taken_ - work_));
}

}  // namespace quarkq::planning::finetune

// SPDX-License-Identifier: MIT
#include "exec/memory_guard.h"

#include <algorithm>
#include <atomic>

#include "base/control_groups.h"
#include "base/system_memory.h"

namespace quarkq::exec {
namespace {

std::atomic<int64_t> ceiling{0};

constexpr int64_t kReserved = 10;                    // one part in so many: code, threads, holes between blocks
constexpr int64_t kMostMapped = int64_t{160} << 20;  // pages of weights on disk that may become resident
constexpr int64_t kMappedShare = 8;                  // of the ceiling at most

}  // namespace

void set_memory_ceiling(int64_t bytes) { ceiling = bytes; }

bool has_memory_ceiling() { return ceiling > 0; }

int64_t memory_left() {
  const int64_t bytes = ceiling;
  const auto taken = static_cast<int64_t>(resident_memory().all);
  return std::max<int64_t>(0, bytes - bytes / kReserved - std::min(kMostMapped, bytes / kMappedShare) - taken);
}

int64_t allowed_memory(int64_t max_memory) { return max_memory > 0 ? max_memory : granted_memory(); }

Status check_memory(const Prepare& prepare, int64_t allowed) {
  auto needed = static_cast<double>(prepare.scratch_bytes());
  for (size_t i = 0; i < prepare.output_count(); ++i) {
    const Prepare::Output& output = prepare.output(i);
    if (!output.declared || output.alias_of >= 0) continue;
    QQ_TRY(const int64_t count, Result<int64_t>(ir::element_count(output.spec.dims)).context(prepare.label()));
    needed += static_cast<double>(storage_bytes(output.spec.type, count));
  }
  if (needed <= static_cast<double>(allowed)) return Status();
  return resource_error(prepare.label(), ": needs ", bytes_text(needed), " for its outputs, allowed are ",
                        bytes_text(static_cast<double>(allowed)));
}

}  // namespace quarkq::exec

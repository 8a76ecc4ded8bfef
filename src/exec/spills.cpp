// SPDX-License-Identifier: MIT
#include "exec/spills.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <numeric>
#include <utility>

#include "base/file_system.h"
#include "base/temporary_file.h"
#include "exec/memory_plan.h"

namespace quarkq::exec {
namespace {

std::vector<size_t> sorted_by(const std::vector<Spill>& spills, int Spill::*step) {
  std::vector<size_t> order(spills.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, {}, [&](size_t i) { return spills[i].*step; });
  return order;
}

}  // namespace

Spills::~Spills() {
  if (file_ >= 0) close(file_);
}

Spills& Spills::operator=(Spills&& other) noexcept {
  std::swap(all_, other.all_);
  std::swap(by_after_, other.by_after_);
  std::swap(by_before_, other.by_before_);
  std::swap(written_, other.written_);
  std::swap(read_, other.read_);
  std::swap(file_, other.file_);
  return *this;
}

void Spills::plan_file() {
  by_after_ = sorted_by(all_, &Spill::after);
  by_before_ = sorted_by(all_, &Spill::before);
  std::vector<Lifetime> lifetimes;
  for (const Spill& spill : all_) lifetimes.push_back({spill.bytes, spill.after, spill.before});
  const MemoryPlan plan = plan_memory(lifetimes);
  for (size_t i = 0; i < all_.size(); ++i) all_[i].offset = plan.offsets[i];
}

void Spills::begin(std::span<std::byte*> buffers) {
  written_ = read_ = 0;
  for (size_t i = all_.size(); i-- > 0;) {  // backwards: the first place of a buffer is set last
    for (const int slot : all_[i].slots) buffers[static_cast<size_t>(slot)] = all_[i].from;
  }
}

Status Spills::write_after(int step) {
  for (; written_ < by_after_.size() && all_[by_after_[written_]].after <= step; ++written_) {
    const Spill& spill = all_[by_after_[written_]];
    if (file_ < 0) {
      QQ_TRY(file_, open_temporary_file());
    }
    if (!write_all_at(file_, spill.from, static_cast<size_t>(spill.bytes), spill.offset))
      return io_error("temporary file of intermediate values: cannot write, ", std::strerror(errno));
  }
  return Status();
}

Status Spills::read_before(int step, std::span<std::byte*> buffers) {
  for (; read_ < by_before_.size() && all_[by_before_[read_]].before <= step; ++read_) {
    const Spill& spill = all_[by_before_[read_]];
    if (!read_all_at(file_, spill.to, static_cast<size_t>(spill.bytes), spill.offset))
      return io_error("temporary file of intermediate values: cannot read, ", std::strerror(errno));
    for (const int slot : spill.slots) buffers[static_cast<size_t>(slot)] = spill.to;
  }
  return Status();
}

}  // namespace quarkq::exec

// SPDX-License-Identifier: MIT
#include "calib/read_ahead.h"

#include <algorithm>

#include "base/check.h"

namespace quarkq::calib {

ReadAhead::ReadAhead(const DataReader& reader, std::vector<size_t> indices, size_t threads, size_t depth)
    : reader_(reader), indices_(std::move(indices)), slots_(std::max<size_t>(depth, 1)) {
  const size_t wanted = std::min({std::max<size_t>(threads, 1), slots_.size(), indices_.size()});
  for (size_t i = 0; i < wanted; ++i) {
    try {
      threads_.emplace_back([this] { work(); });
    } catch (const std::exception&) {
      break;  // no more threads or memory for them: go on with those there are, if none, next() reads by itself
    }
  }
}

ReadAhead::~ReadAhead() {
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
  }
  has_room_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

Result<Sample> ReadAhead::next() {
  QQ_CHECK(!is_done());
  if (threads_.empty()) return reader_.read(indices_[taken_++]);
  std::unique_lock lock(mutex_);
  std::optional<Outcome>& slot = slots_[taken_ % slots_.size()];
  has_sample_.wait(lock, [&] { return slot.has_value(); });
  Outcome outcome = std::move(slot).value();
  slot = std::nullopt;
  ++taken_;
  lock.unlock();
  has_room_.notify_one();
  if (outcome.thrown != nullptr) std::rethrow_exception(outcome.thrown);
  return std::move(outcome.sample).value();
}

void ReadAhead::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    has_room_.wait(lock, [&] { return is_stopping_ || begun_ == indices_.size() || begun_ - taken_ < slots_.size(); });
    if (is_stopping_ || begun_ == indices_.size()) break;
    const size_t mine = begun_++;
    lock.unlock();
    Outcome outcome = read(indices_[mine]);
    lock.lock();
    slots_[mine % slots_.size()] = std::move(outcome);
    has_sample_.notify_one();
  }
  lock.unlock();
  has_room_.notify_all();  // the others may be waiting for room that will not be made any more
}

ReadAhead::Outcome ReadAhead::read(size_t index) const noexcept {
  try {
    return {reader_.read(index), nullptr};
  } catch (...) {  // out of memory: an exception must not end a thread
    return {std::nullopt, std::current_exception()};
  }
}

}  // namespace quarkq::calib

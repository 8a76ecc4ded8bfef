// SPDX-License-Identifier: MIT
#include "calib/read_ahead.h"

#include <algorithm>

#include "base/error.h"

namespace quarkq::calib {

namespace {

constexpr double kExtraBytes = 512 << 20;  // that further programs may take

/// What a program may take at most: all values of the graph side by side. Unknown dimensions count as 1.
double program_bytes(const ir::Graph& graph) {
  double bytes = 1;
  for (size_t i = 0; i < graph.value_count(); ++i) {
    const ir::ValueType& type = graph.value({static_cast<int32_t>(i)}).type;
    if (!type.has_shape) continue;
    double count = 1;
    for (const int64_t dim : type.shape()) count *= dim < 0 ? 1.0 : static_cast<double>(dim);
    bytes += count * sizeof(float);
  }
  return bytes;
}

/// Below a ceiling a quarter of what is left: programs of which several fit are not split into segments then.
double extra_bytes(const exec::Environment& environment) {
  if (!environment.has_memory_ceiling()) return kExtraBytes;
  return std::min(kExtraBytes, static_cast<double>(environment.memory_left()) / 4);
}

}  // namespace

size_t worthwhile_programs(const ir::Graph& graph, const exec::Environment& environment, size_t samples,
                           size_t least_each) {
  const auto threads = static_cast<size_t>(environment.independent_threads());
  const auto affordable = 1 + static_cast<size_t>(extra_bytes(environment) / program_bytes(graph));
  return std::max(size_t{1}, std::min({threads, samples / least_each, affordable}));
}

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

// SPDX-License-Identifier: MIT
#include "ir/tensor_store.h"

#include <cerrno>
#include <cstring>

#include "base/file_system.h"
#include "base/residency.h"

namespace quarkq::ir {

TensorStore::~TensorStore() {
  if (file_ >= 0) platform::close_file(file_);
}

Result<int> TensorStore::keep(const Tensor& tensor) {
  Entry entry;
  entry.type = tensor.type();
  entry.dims = tensor.dims();
  entry.bytes = tensor.bytes();
  const bool fits = in_memory_ + entry.bytes <= limit_;
  if (fits || entry.bytes == 0 || tensor.type() == ElementType::kString) {
    entry.tensor = tensor;
    in_memory_ += entry.bytes;
  } else {
    QQ_RETURN_IF_ERROR(spill(tensor, entry));
  }
  if (free_numbers_.empty()) {
    entries_.push_back(std::move(entry));
    return static_cast<int>(entries_.size()) - 1;
  }
  const int number = free_numbers_.back();
  free_numbers_.pop_back();
  entries_[static_cast<size_t>(number)] = std::move(entry);
  return number;
}

Status TensorStore::spill(const Tensor& tensor, Entry& entry) {
  if (file_ < 0) {
    QQ_TRY(file_, open_temporary_file(folder_));
  }
  const auto place = free_places_.find(entry.bytes);
  if (place != free_places_.end()) {
    entry.offset = place->second;
    free_places_.erase(place);
  } else {
    entry.offset = end_of_file_;
    end_of_file_ += entry.bytes;
  }
  if (!write_all_at(file_, tensor.raw(), static_cast<size_t>(entry.bytes), static_cast<uint64_t>(entry.offset)))
    return io_error("temporary file of intermediate values: cannot write, ", std::strerror(errno));
  return Status();
}

Status TensorStore::set_limit(int64_t bytes) {
  limit_ = bytes;
  for (Entry& entry : entries_) {
    if (in_memory_ <= limit_) break;
    if (entry.offset >= 0 || entry.bytes == 0 || entry.type == ElementType::kString) continue;
    QQ_RETURN_IF_ERROR(spill(entry.tensor, entry));
    entry.tensor = {};
    in_memory_ -= entry.bytes;
  }
  return Status();
}

Result<Tensor> TensorStore::get(int number) const {
  const Entry& entry = entries_[static_cast<size_t>(number)];
  if (entry.offset < 0) return entry.tensor;
  Tensor tensor = Tensor::allocate(entry.type, entry.dims);
  if (!read_all_at(file_, tensor.mutable_raw(), static_cast<size_t>(entry.bytes), static_cast<uint64_t>(entry.offset)))
    return io_error("temporary file of intermediate values: cannot read, ", std::strerror(errno));
  return tensor;
}

void TensorStore::drop(int number) {
  Entry& entry = entries_[static_cast<size_t>(number)];
  if (entry.offset >= 0) {
    free_places_.emplace(entry.bytes, entry.offset);
  } else {
    in_memory_ -= entry.bytes;
  }
  entry = {};
  free_numbers_.push_back(number);
}

namespace {

constexpr int64_t kLargeBytes = int64_t{1} << 20;  // smaller ones are not worth a mapping of their own

}  // namespace

Tensor WeightStore::settle(Tensor data) {
  trim_mapped_pages();  // whoever made it has read a weight; on a busy machine the limit's own thread may come late
  if (file_ == nullptr || !data.owns_memory() || data.bytes() < kLargeBytes) return data;
  const Result<std::shared_ptr<const std::byte>> kept = file_->put(data.raw(), static_cast<size_t>(data.bytes()));
  if (!kept.ok()) return data;
  return Tensor::adopt(data.type(), data.dims(), kept.value(), kept.value().get());
}

}  // namespace quarkq::ir

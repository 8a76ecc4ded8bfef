// SPDX-License-Identifier: MIT
#include "ir/weight_store.h"

namespace quarkq::ir {
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

// SPDX-License-Identifier: MIT
#include "ir/tensor.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <type_traits>

#include "numeric/element_type.h"
#include "numeric/small_floats.h"

namespace quarkq::ir {
namespace {

constexpr size_t kAlignment = 64;  // one cache line, one AVX-512 register

/// Not aligned_alloc: what glibc (before 2.38) frees of that does not fit the next request of the same size, and a run
/// over many samples takes several times the memory it needs.
std::shared_ptr<std::byte> aligned_buffer(int64_t bytes) {
  size_t space = static_cast<size_t>(bytes) + kAlignment;
  const std::shared_ptr<void> block(std::malloc(space), std::free);
  if (block == nullptr) throw std::bad_alloc();  // ends with exit code 7, as all memory that runs out
  void* place = block.get();
  return {block, static_cast<std::byte*>(std::align(kAlignment, static_cast<size_t>(bytes), place, space))};
}

/// Real numbers lose their fraction as integers; the rest must be representable.
template <typename Out, typename In>
Result<std::vector<Out>> convert(std::span<const In> values) {
  if constexpr (std::is_integral_v<Out> && std::is_floating_point_v<In>) {
    constexpr auto kEnd = static_cast<In>(uint64_t{1} << 63);
    const auto bad = std::ranges::find_if_not(values, [](In value) { return value >= -kEnd && value < kEnd; });
    if (bad != values.end()) return corrupt_model("a tensor holds ", *bad, ", needed are 64-bit integers");
  }
  return std::vector<Out>(values.begin(), values.end());
}

template <typename Out>
Result<std::vector<Out>> convert_packed(const Tensor& tensor) {
  const auto* packed = reinterpret_cast<const uint8_t*>(tensor.raw());
  std::vector<int8_t> values(static_cast<size_t>(tensor.size()));
  if (tensor.type() == ElementType::kInt4 || tensor.type() == ElementType::kInt2) {
    numeric::unpack_integers(packed, 0, tensor.size(), bits(tensor.type()), values.data());
  } else {
    numeric::unpack_codes(packed, 0, tensor.size(), bits(tensor.type()), reinterpret_cast<uint8_t*>(values.data()));
  }
  return convert<Out>(std::span<const int8_t>(values));
}

template <typename Out>
Result<std::vector<Out>> to_vector(const Tensor& tensor) {
  switch (tensor.type()) {
    case ElementType::kFloat: return convert<Out>(tensor.data<float>());
    case ElementType::kDouble: return convert<Out>(tensor.data<double>());
    case ElementType::kInt2:
    case ElementType::kUInt2:
    case ElementType::kInt4:
    case ElementType::kUInt4: return convert_packed<Out>(tensor);
    case ElementType::kInt8: return convert<Out>(tensor.data<int8_t>());
    case ElementType::kBool:
    case ElementType::kUInt8: return convert<Out>(tensor.data<uint8_t>());
    case ElementType::kInt16: return convert<Out>(tensor.data<int16_t>());
    case ElementType::kUInt16: return convert<Out>(tensor.data<uint16_t>());
    case ElementType::kInt32: return convert<Out>(tensor.data<int32_t>());
    case ElementType::kUInt32: return convert<Out>(tensor.data<uint32_t>());
    case ElementType::kInt64: return convert<Out>(tensor.data<int64_t>());
    case ElementType::kUInt64: return convert<Out>(tensor.data<uint64_t>());
    case ElementType::kFloat16:
    case ElementType::kBFloat16: {
      std::vector<float> values;
      const bool half = tensor.type() == ElementType::kFloat16;
      for (const uint16_t v : tensor.data<uint16_t>())
        values.push_back(half ? float_from_float16(v) : float_from_bfloat16(v));
      return convert<Out>(std::span<const float>(values));
    }
    default: return unsupported("a tensor of type ", name(tensor.type()), " where numbers are needed");
  }
}

}  // namespace

Tensor Tensor::allocate(ElementType type, Shape dims) {
  Tensor tensor;
  tensor.type_ = type;
  tensor.count_ = checked_count(dims);
  tensor.dims_ = std::move(dims);
  const std::shared_ptr<std::byte> buffer = aligned_buffer(tensor.bytes());
  tensor.data_ = buffer.get();
  tensor.owner_ = buffer;
  tensor.writable_ = true;
  return tensor;
}

Tensor Tensor::zeros(ElementType type, Shape dims) {
  Tensor tensor = allocate(type, std::move(dims));
  std::memset(tensor.mutable_raw(), 0, static_cast<size_t>(tensor.bytes()));
  return tensor;
}

Tensor Tensor::adopt(ElementType type, Shape dims, std::shared_ptr<const void> owner, const std::byte* data) {
  Tensor tensor;
  tensor.type_ = type;
  tensor.count_ = checked_count(dims);
  tensor.dims_ = std::move(dims);
  tensor.owner_ = std::move(owner);
  tensor.data_ = data;
  return tensor;
}

Tensor Tensor::rows(int64_t first, int64_t count) const {
  QQ_CHECK(!dims_.empty() && first >= 0 && count >= 0 && first + count <= dims_[0]);
  Shape dims = dims_;
  const int64_t each = dims_[0] == 0 ? 0 : bytes() / dims_[0];
  dims[0] = count;
  return adopt(type_, std::move(dims), owner_, data_ + first * each);
}

Tensor Tensor::of_strings(Shape dims, std::vector<std::string> values) {
  Tensor tensor;
  tensor.type_ = ElementType::kString;
  tensor.count_ = checked_count(dims);
  QQ_CHECK(static_cast<size_t>(tensor.count_) == values.size());
  tensor.dims_ = std::move(dims);
  tensor.strings_ = std::make_shared<const std::vector<std::string>>(std::move(values));
  return tensor;
}

std::byte* Tensor::fresh_raw() {
  if (!writable_ || owner_.use_count() > 1) {
    const std::shared_ptr<std::byte> buffer = aligned_buffer(bytes());
    data_ = buffer.get();
    owner_ = buffer;
    writable_ = true;
  }
  return const_cast<std::byte*>(data_);
}

std::byte* Tensor::mutable_raw() {
  if (!writable_ || owner_.use_count() > 1) {
    const std::shared_ptr<std::byte> buffer = aligned_buffer(bytes());
    if (bytes() > 0) std::memcpy(buffer.get(), data_, static_cast<size_t>(bytes()));
    data_ = buffer.get();
    owner_ = buffer;
    writable_ = true;
  }
  return const_cast<std::byte*>(data_);
}

Tensor Tensor::reshaped(Shape dims) const {
  QQ_CHECK(checked_count(dims) == count_);
  Tensor tensor = *this;
  tensor.dims_ = std::move(dims);
  return tensor;
}

bool Tensor::same_as(const Tensor& other) const {
  if (type_ != other.type_ || dims_ != other.dims_) return false;
  if (type_ == ElementType::kString) return *strings_ == *other.strings_;
  return data_ == other.data_ || bytes() == 0 || std::memcmp(data_, other.data_, static_cast<size_t>(bytes())) == 0;
}

Result<std::vector<int64_t>> to_int64(const Tensor& tensor) { return to_vector<int64_t>(tensor); }
Result<std::vector<double>> to_double(const Tensor& tensor) { return to_vector<double>(tensor); }

}  // namespace quarkq::ir

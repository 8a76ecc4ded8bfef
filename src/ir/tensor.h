// SPDX-License-Identifier: MIT
// Tensor: typed, dense, row-major data with a buffer that is shared between copies and cloned when one of them writes.
// The buffer may be owned memory, a file mapping or another object's memory; copying a graph therefore costs no
// weights.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "ir/shape.h"

namespace quarkq::ir {

class Tensor {
 public:
  Tensor() = default;

  /// Zero-filled, 64-byte aligned. REQUIRES: element_count(dims) succeeds.
  static Tensor zeros(ElementType type, Shape dims);
  /// Uninitialized, 64-byte aligned.
  static Tensor allocate(ElementType type, Shape dims);
  /// Reads `storage_bytes(type, count)` bytes at `data`, which stay valid and unchanged as long as `owner` lives.
  static Tensor adopt(ElementType type, Shape dims, std::shared_ptr<const void> owner, const std::byte* data);
  template <typename T>
  static Tensor from(Shape dims, std::span<const T> values);
  template <typename T>
  static Tensor from(Shape dims, const std::vector<T>& values) {
    return from<T>(std::move(dims), std::span<const T>(values));
  }
  template <typename T>
  static Tensor scalar(T value) {
    return from<T>({}, std::span<const T>(&value, 1));
  }
  static Tensor of_strings(Shape dims, std::vector<std::string> values);

  ElementType type() const { return type_; }
  const Shape& dims() const { return dims_; }
  int64_t rank() const { return static_cast<int64_t>(dims_.size()); }
  int64_t size() const { return count_; }                         ///< elements
  int64_t bytes() const { return storage_bytes(type_, count_); }  ///< of raw data
  bool is_defined() const { return type_ != ElementType::kUndefined; }

  const std::byte* raw() const { return data_; }
  /// The buffer is memory that this program allocated for a tensor, not a mapping or another object's.
  bool owns_memory() const { return writable_; }
  /// Writable raw data; clones the buffer first when it is shared or not ours.
  std::byte* mutable_raw();

  /// Writable raw data whose content does not matter: instead of cloning a shared buffer it takes a new one.
  std::byte* fresh_raw();

  /// REQUIRES: T is the C++ type of type() (16-bit floats and 8-bit types may be read as uint16_t and uint8_t/int8_t).
  template <typename T>
  std::span<const T> data() const {
    QQ_CHECK(bits(type_) == 8 * static_cast<int>(sizeof(T)));
    return {reinterpret_cast<const T*>(data_), static_cast<size_t>(count_)};
  }
  template <typename T>
  std::span<T> mutable_data() {
    QQ_CHECK(bits(type_) == 8 * static_cast<int>(sizeof(T)));
    return {reinterpret_cast<T*>(mutable_raw()), static_cast<size_t>(count_)};
  }
  /// REQUIRES: type() is kString.
  const std::vector<std::string>& strings() const { return *strings_; }

  /// The same data under another shape. REQUIRES: same element count.
  Tensor reshaped(Shape dims) const;
  /// Same type, shape and bytes.
  bool same_as(const Tensor& other) const;

 private:
  ElementType type_ = ElementType::kUndefined;
  Shape dims_;
  int64_t count_ = 0;
  const std::byte* data_ = nullptr;
  std::shared_ptr<const void> owner_;
  bool writable_ = false;  ///< the buffer was made by allocate(), so it may be written when not shared
  std::shared_ptr<const std::vector<std::string>> strings_;
};

/// Elements as int64 / double whatever the stored type (integers, bool, float, double, float16, bfloat16).
/// Fails for other types, and for real numbers that no int64 holds. For the small tensors that hold shapes, axes,
/// limits and scales.
Result<std::vector<int64_t>> to_int64(const Tensor& tensor);
Result<std::vector<double>> to_double(const Tensor& tensor);

template <typename T>
Tensor Tensor::from(Shape dims, std::span<const T> values) {
  Tensor tensor = allocate(element_type_of<T>(), std::move(dims));
  QQ_CHECK(static_cast<size_t>(tensor.size()) == values.size());
  std::copy(values.begin(), values.end(), reinterpret_cast<T*>(tensor.mutable_raw()));
  return tensor;
}

// What a graph value holds while a model runs.

/// A tensor, a sequence of tensors, or nothing (an optional without a value). An optional with a value is that value.
struct Operand {
  enum class Kind { kNone, kTensor, kSequence };

  Operand() = default;
  Operand(Tensor value) : kind(Kind::kTensor), tensor(std::move(value)) {}  // NOLINT(google-explicit-constructor)
  static Operand of_sequence(std::vector<Tensor> elements) {
    Operand operand;
    operand.kind = Kind::kSequence;
    operand.sequence = std::move(elements);
    return operand;
  }

  /// As assignment, but keeps the memory of the dims there are.
  void set(const Tensor& value) {
    kind = Kind::kTensor;
    tensor = value;
    sequence.clear();
  }

  bool is_tensor() const { return kind == Kind::kTensor; }
  bool is_sequence() const { return kind == Kind::kSequence; }

  Kind kind = Kind::kNone;
  Tensor tensor;
  std::vector<Tensor> sequence;
};

}  // namespace quarkq::ir

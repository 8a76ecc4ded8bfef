// SPDX-License-Identifier: MIT
// Tensor: typed, dense, row-major data. Copies share the buffer until one of them writes. The buffer may be owned
// memory, a file mapping or memory of another object, so copying a graph does not copy weights.
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

  /// Returns a zero-filled tensor, 64-byte aligned. REQUIRES: element_count(dims) succeeds.
  static Tensor zeros(ElementType type, Shape dims);
  /// Returns an uninitialized tensor, 64-byte aligned.
  static Tensor allocate(ElementType type, Shape dims);
  /// Refers to `storage_bytes(type, count)` bytes at `data`, which must stay valid and unchanged while `owner` lives.
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

  /// Returns `count` entries along axis 0, from `first`. Shares the data. REQUIRES: the entries exist and fill whole
  /// bytes; no strings.
  Tensor rows(int64_t first, int64_t count) const;

  ElementType type() const { return type_; }
  const Shape& dims() const { return dims_; }
  int64_t rank() const { return static_cast<int64_t>(dims_.size()); }
  int64_t size() const { return count_; }                         ///< Returns the number of elements.
  int64_t bytes() const { return storage_bytes(type_, count_); }  ///< Returns the size of the raw data.
  bool is_defined() const { return type_ != ElementType::kUndefined; }

  const std::byte* raw() const { return data_; }
  /// Returns whether this program allocated the buffer for a tensor, as opposed to a mapping or memory of another
  /// object.
  bool owns_memory() const { return writable_; }
  /// Returns writable raw data. Clones the buffer first if it is shared or not owned.
  std::byte* mutable_raw();

  /// Returns writable raw data with undefined content. Allocates a new buffer instead of cloning a shared one.
  std::byte* fresh_raw();

  /// REQUIRES: T is the C++ type of type(); 16-bit floats may be read as uint16_t, 8-bit types as uint8_t or int8_t.
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

  /// Returns the data under another shape. REQUIRES: equal element count.
  Tensor reshaped(Shape dims) const;
  /// Returns whether type, shape and bytes are equal.
  bool same_as(const Tensor& other) const;

 private:
  ElementType type_ = ElementType::kUndefined;
  Shape dims_;
  int64_t count_ = 0;
  const std::byte* data_ = nullptr;
  std::shared_ptr<const void> owner_;
  bool writable_ = false;  ///< The buffer was created by allocate(), so it may be written if it is not shared.
  std::shared_ptr<const std::vector<std::string>> strings_;
};

/// Return the elements as int64 or double for any numeric type. Fail for other types, and for real numbers that are not
/// representable in int64. For the small tensors of shapes, axes, limits and scales.
Result<std::vector<int64_t>> to_int64(const Tensor& tensor);
Result<std::vector<double>> to_double(const Tensor& tensor);

template <typename T>
Tensor Tensor::from(Shape dims, std::span<const T> values) {
  Tensor tensor = allocate(element_type_of<T>(), std::move(dims));
  QQ_CHECK(static_cast<size_t>(tensor.size()) == values.size());
  std::copy(values.begin(), values.end(), reinterpret_cast<T*>(tensor.mutable_raw()));
  return tensor;
}

/// A tensor, a sequence of tensors, or an empty optional. An optional with a value is represented by that value.
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

  /// Assigns `value` and reuses the memory of the current dims.
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

// SPDX-License-Identifier: MIT
// Common parts of kernels: 16-bit floats as number types, selecting a template by element type, dividing work between
// threads, and small shape arithmetic. Private to exec/kernels.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "base/parallel.h"
#include "exec/environment.h"
#include "exec/op_def.h"
#include "numeric/element_type.h"

namespace quarkq::exec {

// ---- number types ---------------------------------------------------------------------------------------------------

struct Float16 {
  uint16_t bits = 0;
  Float16() = default;
  explicit Float16(float value) : bits(float16_from_float(value)) {}
  operator float() const { return float_from_float16(bits); }  // NOLINT(google-explicit-constructor)
};
struct BFloat16 {
  uint16_t bits = 0;
  BFloat16() = default;
  explicit BFloat16(float value) : bits(bfloat16_from_float(value)) {}
  operator float() const { return float_from_bfloat16(bits); }  // NOLINT(google-explicit-constructor)
};

template <typename T>
constexpr bool kIsHalf = std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>;
/// The type in which arithmetic on T is computed.
template <typename T>
using Compute = std::conditional_t<kIsHalf<T>, float, T>;
template <typename T>
constexpr bool kIsReal = kIsHalf<T> || std::is_floating_point_v<T>;

template <typename T>
struct TypeTag {
  using type = T;
};

/// Calls f(TypeTag<T>()) for the C++ type of `type` and returns true; false for types that have none (strings, 4 and
/// 8-bit floats, complex). Bool comes as uint8_t.
template <typename F>
bool visit_real(ElementType type, F&& f) {
  switch (type) {
    case ElementType::kFloat: f(TypeTag<float>()); return true;
    case ElementType::kDouble: f(TypeTag<double>()); return true;
    case ElementType::kFloat16: f(TypeTag<Float16>()); return true;
    case ElementType::kBFloat16: f(TypeTag<BFloat16>()); return true;
    default: return false;
  }
}
template <typename F>
bool visit_integer(ElementType type, F&& f) {
  switch (type) {
    case ElementType::kInt8: f(TypeTag<int8_t>()); return true;
    case ElementType::kUInt8: f(TypeTag<uint8_t>()); return true;
    case ElementType::kInt16: f(TypeTag<int16_t>()); return true;
    case ElementType::kUInt16: f(TypeTag<uint16_t>()); return true;
    case ElementType::kInt32: f(TypeTag<int32_t>()); return true;
    case ElementType::kUInt32: f(TypeTag<uint32_t>()); return true;
    case ElementType::kInt64: f(TypeTag<int64_t>()); return true;
    case ElementType::kUInt64: f(TypeTag<uint64_t>()); return true;
    default: return false;
  }
}
template <typename F>
bool visit_number(ElementType type, F&& f) {
  return visit_real(type, f) || visit_integer(type, f);
}
inline bool is_number(ElementType type) {
  return visit_number(type, [](auto) {});
}
template <typename F>
bool visit_number_or_bool(ElementType type, F&& f) {
  if (type == ElementType::kBool) {
    f(TypeTag<uint8_t>());
    return true;
  }
  return visit_number(type, f);
}

/// Elements as floats and back, whatever the real type.
template <typename T>
void to_floats(const T* x, float* y, int64_t n) {
  for (int64_t i = 0; i < n; ++i) y[i] = static_cast<float>(x[i]);
}
template <typename T>
void from_floats(const float* x, T* y, int64_t n) {
  for (int64_t i = 0; i < n; ++i) y[i] = static_cast<T>(x[i]);
}

// ---- work over threads ----------------------------------------------------------------------------------------------

constexpr int64_t kParallelElements = 32768;  ///< less work than this costs less than waking a thread
constexpr int64_t kPieceElements = 16384;     ///< how much one thread takes at a time

/// Calls body(begin, end) for pieces of [0, count). Pieces do not depend on the number of threads.
template <typename Body>
void for_pieces(int64_t count, int64_t piece, bool parallel, const Body& body) {
  parallel_pieces(count, piece, {.threads = parallel ? 0 : 1}, body);
}

/// For loops over single elements.
template <typename Body>
void for_elements(int64_t count, const Body& body) {
  for_pieces(count, kPieceElements, count >= kParallelElements, body);
}

/// For loops over `rows` rows that cost as much as `row_elements` elements each.
template <typename Body>
void for_rows(int64_t rows, int64_t row_elements, const Body& body) {
  const int64_t cost = std::max<int64_t>(row_elements, 1);
  const int64_t piece = std::max<int64_t>(1, kPieceElements / cost);
  for_pieces(rows, piece, rows >= 2 && rows >= kParallelElements / cost, body);
}

// ---- shapes ---------------------------------------------------------------------------------------------------------

/// Product of dims[first..last). The dims of a tensor that exists do not overflow.
inline int64_t product(const ir::Shape& dims, int64_t first, int64_t last) {
  int64_t count = 1;
  for (int64_t i = first; i < last; ++i) count *= dims[static_cast<size_t>(i)];
  return count;
}
inline int64_t product(const ir::Shape& dims) { return product(dims, 0, static_cast<int64_t>(dims.size())); }

/// A shape around one axis: [outer, count, inner].
struct AxisView {
  int64_t outer = 1, count = 1, inner = 1;
};
inline AxisView axis_view(const ir::Shape& dims, int64_t axis) {
  return {product(dims, 0, axis), dims[static_cast<size_t>(axis)],
          product(dims, axis + 1, static_cast<int64_t>(dims.size()))};
}

/// Returns the strides of row-major dims, in elements.
inline std::vector<int64_t> row_major_strides(const ir::Shape& dims) {
  std::vector<int64_t> strides(dims.size());
  int64_t step = 1;
  for (size_t i = dims.size(); i-- > 0;) {
    strides[i] = step;
    step *= std::max<int64_t>(dims[i], 1);
  }
  return strides;
}

/// Returns the bytes of one element. Fails for types whose elements do not have whole bytes.
inline Result<int64_t> element_bytes(const Prepare& p, ElementType type) {
  const int width = bits(type);
  if (width < 8) return p.cannot("elements of type ", name(type), " cannot be moved");
  return static_cast<int64_t>(width / 8);
}

/// Fails when a tensor of these dims cannot exist: a dim is negative, or there are too many elements of so many
/// bits. To be called before a kernel makes tables as long as an output's axis.
inline Status check_dims(const Prepare& p, const ir::Shape& dims, int element_bits = 4) {
  QQ_TRY(const int64_t count, Result<int64_t>(ir::element_count(dims)).context(p.label()));
  const double bytes = static_cast<double>(count) * element_bits / 8;
  const auto allowed = static_cast<double>(allowed_memory(p.max_memory()));
  if (bytes <= allowed) return Status();
  return resource_error(p.label(), ": needs ", bytes_text(bytes), " or more for ", shape_text(dims),
                        p.max_memory() > 0 ? ", allowed are " : ", this machine has ", bytes_text(allowed));
}

/// Fails unless `found` is in [low, high].
inline Status require_count(const Prepare& p, std::string_view what, size_t found, size_t low, size_t high) {
  if (found >= low && found <= high) return Status();
  return p.corrupt(found, " ", what, ", allowed: ", low, " to ", high);
}

/// A list of integers that older opsets carry as an attribute and newer ones as an input.
struct IntList {
  bool known = true;     ///< false: an input that only a run can tell; prepare returns Prepare::defer()
  bool present = false;  ///< false: neither attribute nor input is there
  std::vector<int64_t> values;
};
inline Result<IntList> read_ints(const Prepare& p, std::string_view attribute, size_t input, int64_t input_since) {
  IntList list;
  if (p.opset() < input_since) {
    const auto* values = p.node().get<std::vector<int64_t>>(attribute);
    list.present = values != nullptr;
    if (list.present) list.values = *values;
    return list;
  }
  if (!p.has(input)) return list;
  QQ_RETURN_IF_ERROR(p.require_input(input, {ElementType::kInt64, ElementType::kInt32}));
  if (p.in(input).rank() > 1) return p.corrupt(attribute, " has rank ", p.in(input).rank(), ", allowed: 1");
  QQ_TRY(auto values, p.known_ints(input));
  list.present = true;
  list.known = values.has_value();
  if (list.known) list.values = std::move(*values);
  return list;
}

/// True when input / output `i` of a run has a buffer.
inline bool has_input(const Run& run, size_t i) { return i < run.inputs.size() && run.inputs[i] != nullptr; }
inline bool wants_output(const Run& run, size_t i) { return i < run.outputs.size() && run.outputs[i] != nullptr; }

/// The kernel of outputs that are nothing but another view of an input, or that have no elements.
inline Kernel no_kernel() {
  return [](const Run&) { return Status(); };
}

}  // namespace quarkq::exec

// SPDX-License-Identifier: MIT
#include "exec/kernels/elementwise/cast_elements.h"

#include <array>
#include <limits>

#include "exec/kernels/elementwise/cast_loops.h"
#include "exec/kernels/shared/float_bridge.h"

namespace quarkq::exec {
namespace {

using numeric::is_nibble;
using numeric::is_small_float;
using CastFunction = decltype(ElementCast::cast);

struct Bool {
  uint8_t value;
};

/// Truncated and clamped. The largest value of a wide integer is no float: it rounds up to 2^n, which compares right.
template <typename To, typename From>
To integer_from_real(From x) {
  if (std::isnan(x)) return To(0);
  if (x <= static_cast<From>(std::numeric_limits<To>::lowest())) return std::numeric_limits<To>::lowest();
  if (x >= static_cast<From>(std::numeric_limits<To>::max())) return std::numeric_limits<To>::max();
  return static_cast<To>(x);
}

template <typename To, typename From>
To cast_value(From x) {
  if constexpr (std::is_same_v<From, Bool>) {
    return cast_value<To>(static_cast<uint8_t>(x.value != 0));
  } else if constexpr (std::is_same_v<To, Bool>) {
    return {static_cast<uint8_t>(Compute<From>(x) != Compute<From>(0))};
  } else if constexpr (kIsHalf<To> && std::is_same_v<From, double>) {
    return To(numeric::float_rounded_to_odd(x));  // rounded once, not twice
  } else if constexpr (kIsHalf<To>) {
    return To(static_cast<float>(x));
  } else if constexpr (kIsReal<From> && std::is_integral_v<To>) {
    return integer_from_real<To>(Compute<From>(x));
  } else {
    return static_cast<To>(x);
  }
}

template <typename F>
bool visit_castable(ElementType type, F&& f) {
  if (type == ElementType::kBool) {
    f(TypeTag<Bool>());
    return true;
  }
  return visit_number(type, f);
}

// ---- arrays ---------------------------------------------------------------------------------------------------------

template <typename T>
constexpr ElementType kHalfType = std::is_same_v<T, Float16> ? ElementType::kFloat16 : ElementType::kBFloat16;

template <typename From, typename To>
void cast_array(const std::byte* x, std::byte* y, int64_t n) {
  const auto* from = reinterpret_cast<const From*>(x);
  auto* to = reinterpret_cast<To*>(y);
  constexpr bool kFromFloat = std::is_same_v<From, float>;
  if constexpr (kFromFloat && std::is_integral_v<To> && !std::is_same_v<To, uint32_t> &&
                !std::is_same_v<To, uint64_t>) {
    QQ_DISPATCH(exec, integers_from_floats<To>)(from, to, n);
  } else if constexpr (kFromFloat && kIsHalf<To>) {
    floats_to_real(kHalfType<To>, from, y, 0, n);
  } else if constexpr (kIsHalf<From> && std::is_same_v<To, float>) {
    real_to_floats(kHalfType<From>, x, to, 0, n);
  } else {
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) to[i] = cast_value<To>(from[i]);
  }
}

void round_doubles_to_odd(const std::byte* x, std::byte* y, int64_t n) {
  const auto* from = reinterpret_cast<const double*>(x);
  auto* to = reinterpret_cast<float*>(y);
  for (int64_t i = 0; i < n; ++i) to[i] = numeric::float_rounded_to_odd(from[i]);
}

/// Null when one of the types is none that C++ has.
CastFunction find_cast(ElementType from, ElementType to) {
  CastFunction cast = nullptr;
  visit_castable(from, [&](auto from_tag) {
    visit_castable(to, [&](auto to_tag) {
      cast = cast_array<typename decltype(from_tag)::type, typename decltype(to_tag)::type>;
    });
  });
  return cast;
}

// ---- through wide types ---------------------------------------------------------------------------------------------

/// The type that elements are read as, and written from.
ElementType wide_source(ElementType type) {
  if (is_small_float(type)) return ElementType::kFloat;
  if (!is_nibble(type)) return type;
  return type == ElementType::kInt4 ? ElementType::kInt8 : ElementType::kUInt8;
}
ElementType wide_target(ElementType type) {
  if (is_small_float(type)) return ElementType::kFloat;
  return is_nibble(type) ? ElementType::kInt64 : type;
}

constexpr int64_t kChunk = 1024;
/// Room for kChunk elements of any wide type.
struct alignas(64) Chunk {
  std::array<std::byte, kChunk * sizeof(int64_t)> bytes;
  std::byte* data() { return bytes.data(); }
  const std::byte* data() const { return bytes.data(); }
};

/// Elements [first, first + n) of a packed or small type as its wide type.
void read_wide(ElementType from, const std::byte* x, int64_t first, int64_t n, Chunk& wide) {
  const auto* packed = reinterpret_cast<const uint8_t*>(x);
  if (from == ElementType::kInt4) {
    return numeric::unpack_int4(packed, first, n, reinterpret_cast<int8_t*>(wide.data()));
  }
  if (from == ElementType::kUInt4) {
    return numeric::unpack_nibbles(packed, first, n, reinterpret_cast<uint8_t*>(wide.data()));
  }
  auto* floats = reinterpret_cast<float*>(wide.data());
  if (!is_nibble(from)) return numeric::floats_from_small_floats(packed + first, floats, n, from);
  std::array<uint8_t, kChunk> codes;
  numeric::unpack_nibbles(packed, first, n, codes.data());
  numeric::floats_from_small_floats(codes.data(), floats, n, from);
}

/// `n` wide values as codes, one to a byte.
void write_codes(const ElementCast& plan, const Chunk& wide, uint8_t* codes, int64_t n) {
  if (is_small_float(plan.to)) {
    return numeric::small_floats_from_floats(reinterpret_cast<const float*>(wide.data()), codes, n, plan.target);
  }
  const auto* integers = reinterpret_cast<const int64_t*>(wide.data());
  for (int64_t i = 0; i < n; ++i) codes[i] = static_cast<uint8_t>(integers[i] & 15);
}

}  // namespace

std::optional<ElementCast> make_element_cast(ElementType from, ElementType to, numeric::SmallFloatSettings settings) {
  ElementCast plan{from, to, settings, find_cast(wide_source(from), wide_target(to))};
  if (plan.cast == nullptr) return std::nullopt;
  plan.target.type = to;
  // FLOAT8E8M0 is defined on float32; the other small floats are rounded once, from the double itself.
  if (from == ElementType::kDouble && is_small_float(to) && to != ElementType::kFloat8E8M0) {
    plan.cast = round_doubles_to_odd;
  }
  return plan;
}

void cast_range(const ElementCast& plan, const std::byte* x, std::byte* y, int64_t begin, int64_t end) {
  const bool wide_in = wide_source(plan.from) != plan.from, wide_out = wide_target(plan.to) != plan.to;
  const int64_t from_bytes = bits(plan.from) / 8, to_bytes = is_nibble(plan.to) ? 1 : bits(plan.to) / 8;
  if (!wide_in && !wide_out) return plan.cast(x + begin * from_bytes, y + begin * to_bytes, end - begin);
  Chunk source, target;
  for (int64_t first = begin; first < end; first += kChunk) {
    const int64_t n = std::min(kChunk, end - first);
    if (wide_in) read_wide(plan.from, x, first, n, source);
    const std::byte* from = wide_in ? source.data() : x + first * from_bytes;
    plan.cast(from, wide_out ? target.data() : y + first * to_bytes, n);
    if (wide_out) write_codes(plan, target, reinterpret_cast<uint8_t*>(y) + first, n);
  }
}

}  // namespace quarkq::exec

// SPDX-License-Identifier: MIT
#include "exec/kernels/elementwise/cast_elements.h"

#include <array>
#include <cstring>
#include <limits>

#include "exec/kernels/elementwise/elementwise.h"
#include "exec/kernels/elementwise/unary_loops.h"
#include "exec/kernels/shared/type_bridges.h"

namespace quarkq::exec {

namespace {

using numeric::is_packed;
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

bool is_signed_packed(ElementType type) { return type == ElementType::kInt4 || type == ElementType::kInt2; }

/// The type that elements are read as, and written from.
ElementType wide_source(ElementType type) {
  if (is_small_float(type)) return ElementType::kFloat;
  if (!is_packed(type)) return type;
  return is_signed_packed(type) ? ElementType::kInt8 : ElementType::kUInt8;
}
ElementType wide_target(ElementType type) {
  if (is_small_float(type)) return ElementType::kFloat;
  return is_packed(type) ? ElementType::kInt64 : type;
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
  if (is_signed_packed(from)) {
    return numeric::unpack_integers(packed, first, n, bits(from), reinterpret_cast<int8_t*>(wide.data()));
  }
  if (is_packed(from) && !is_small_float(from)) {
    return numeric::unpack_codes(packed, first, n, bits(from), reinterpret_cast<uint8_t*>(wide.data()));
  }
  auto* floats = reinterpret_cast<float*>(wide.data());
  if (!is_packed(from)) return numeric::floats_from_small_floats(packed + first, floats, n, from);
  std::array<uint8_t, kChunk> codes;
  numeric::unpack_codes(packed, first, n, bits(from), codes.data());
  numeric::floats_from_small_floats(codes.data(), floats, n, from);
}

/// `n` wide values as codes, one to a byte.
void write_codes(const ElementCast& plan, const Chunk& wide, uint8_t* codes, int64_t n) {
  if (is_small_float(plan.to)) {
    return numeric::small_floats_from_floats(reinterpret_cast<const float*>(wide.data()), codes, n, plan.target);
  }
  const auto* integers = reinterpret_cast<const int64_t*>(wide.data());
  const int64_t mask = (int64_t{1} << bits(plan.to)) - 1;
  for (int64_t i = 0; i < n; ++i) codes[i] = static_cast<uint8_t>(integers[i] & mask);
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
  const int64_t from_bytes = bits(plan.from) / 8, to_bytes = is_packed(plan.to) ? 1 : bits(plan.to) / 8;
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

// Cast and CastLike between all numeric types (opsets 6 to 28), and BitCast.

namespace {

/// Packed targets are collected in scratch memory, one code to a byte.
Kernel cast_kernel(const ElementCast& plan, const Spec& x) {
  const int64_t n = product(x.dims);
  if (!numeric::is_packed(plan.to)) {
    return [plan, n](const Run& run) {
      cast_elements(plan, run.inputs[0], run.outputs[0], n);
      return Status();
    };
  }
  return [plan, n, dims = x.dims, layout = x.layout](const Run& run) {
    cast_elements(plan, run.inputs[0], run.scratch, n);
    pack_in_onnx_order(reinterpret_cast<const uint8_t*>(run.scratch), run.out<uint8_t>(0), dims, layout, bits(plan.to));
    return Status();
  };
}

Result<numeric::SmallFloatSettings> read_settings(const Prepare& p, ElementType to) {
  numeric::SmallFloatSettings settings;
  settings.type = to;
  settings.saturate = p.node().int_or("saturate", 1) != 0;
  const std::string mode = p.node().string_or("round_mode", "up");
  const auto rounding = numeric::power_rounding_from_name(mode);
  if (!rounding) return p.corrupt("round_mode is '", mode, "', allowed: up, down, nearest");
  settings.rounding = *rounding;
  return settings;
}

Result<Kernel> cast_to(Prepare& p, ElementType to) {
  const Spec& x = p.in(0);
  QQ_TRY(const numeric::SmallFloatSettings settings, read_settings(p, to));
  if (x.type == to) {
    p.alias(0, 0, x.dims);
    return no_kernel();
  }
  const std::optional<ElementCast> plan = make_element_cast(x.type, to, settings);
  if (!plan) return p.cannot("casts ", name(x.type), " to ", name(to), ", allowed: numbers of 2 to 64 bits, BOOL");
  QQ_RETURN_IF_ERROR(require_plain_packed(p, 0));
  declare_like_input(p, 0, to);
  if (numeric::is_packed(to)) p.scratch(static_cast<size_t>(product(x.dims)));
  return cast_kernel(*plan, x);
}

Result<ElementType> read_target(const Prepare& p) {
  const auto* to = p.node().get<int64_t>("to");
  if (to == nullptr) return p.corrupt("attribute to is missing");
  const auto type = *to < 0 || *to > 1000 ? std::nullopt : element_type_from_wire(static_cast<int32_t>(*to));
  if (!type) return p.corrupt("attribute to is ", *to, ", which is not an element type");
  return *type;
}

}  // namespace

Result<Kernel> prepare_cast(Prepare& p) {
  QQ_RETURN_IF_ERROR(p.require_input(0));
  QQ_TRY(const ElementType to, read_target(p));
  return cast_to(p, to);
}

Result<Kernel> prepare_cast_like(Prepare& p) {
  QQ_RETURN_IF_ERROR(p.require_input(0));
  QQ_RETURN_IF_ERROR(p.require_input(1));
  return cast_to(p, p.in(1).type);
}

Result<Kernel> prepare_bit_cast(Prepare& p) {
  QQ_RETURN_IF_ERROR(p.require_input(0));
  const Spec& x = p.in(0);
  QQ_TRY(const ElementType to, read_target(p));
  if (bits(to) == 0 || bits(to) != bits(x.type))
    return p.corrupt("casts the bits of ", name(x.type), " to ", name(to), ", allowed: types of the same width");
  p.out(0, to, x.dims);
  p.in_place(0, 0);
  return Kernel([bytes = static_cast<size_t>(storage_bytes(to, product(x.dims)))](const Run& run) {
    if (run.outputs[0] != run.inputs[0]) std::memcpy(run.outputs[0], run.inputs[0], bytes);
    return Status();
  });
}

}  // namespace quarkq::exec

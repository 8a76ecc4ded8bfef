// SPDX-License-Identifier: MIT
// Operators on the bits of integers: BitShift, BitwiseAnd, BitwiseOr, BitwiseXor, BitwiseNot.
#include <functional>

#include "exec/kernels/elementwise/elementwise.h"
#include "exec/op_families.h"

namespace quarkq::exec {
namespace {

constexpr std::string_view kIntegers = ", allowed: integers of 8 to 64 bits";

/// y = f(a, b) on unsigned patterns of the element's size. F: a function without state.
template <typename F>
Result<Kernel> pattern_kernel(Prepare& p, F) {
  QQ_TRY(BinaryOperands operands, require_pair(p));
  RowLoop loop;
  visit_integer(p.in(0).type, [&](auto tag) {
    using T = std::make_unsigned_t<typename decltype(tag)::type>;
    loop = row_loop<T, T, T>([](T a, T b) { return static_cast<T>(F()(a, b)); });
  });
  if (loop.run == nullptr) return p.cannot("input 0 is ", name(p.in(0).type), kIntegers);
  p.out(0, p.in(0).type, std::move(operands.dims));
  return rows_kernel(std::move(operands.plan), loop);
}

Result<Kernel> prepare_and_bits(Prepare& p) { return pattern_kernel(p, std::bit_and<>()); }
Result<Kernel> prepare_or_bits(Prepare& p) { return pattern_kernel(p, std::bit_or<>()); }
Result<Kernel> prepare_xor_bits(Prepare& p) { return pattern_kernel(p, std::bit_xor<>()); }

/// Shifts by the width of the type or more leave nothing.
template <bool kLeft>
struct Shift {
  template <typename T>
  uint64_t operator()(T a, T b) const {
    const uint64_t wide = a, shift = b;
    if (shift >= 8 * sizeof(T)) return 0;
    return kLeft ? wide << shift : wide >> shift;
  }
};

Result<Kernel> prepare_bit_shift(Prepare& p) {
  const std::string direction = p.node().string_or("direction", "");
  if (direction != "LEFT" && direction != "RIGHT") {
    return p.corrupt("direction is '", direction, "', allowed: LEFT, RIGHT");
  }
  QQ_RETURN_IF_ERROR(
      p.require_input(0, {ElementType::kUInt8, ElementType::kUInt16, ElementType::kUInt32, ElementType::kUInt64}));
  return direction == "LEFT" ? pattern_kernel(p, Shift<true>()) : pattern_kernel(p, Shift<false>());
}

Result<Kernel> prepare_not_bits(Prepare& p) {
  QQ_RETURN_IF_ERROR(p.require_input(0));
  const int64_t n = product(p.in(0).dims);
  Kernel kernel;
  visit_integer(p.in(0).type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    kernel = [n](const Run& run) {
      for (int64_t i = 0; i < n; ++i) run.out<T>(0)[i] = static_cast<T>(~run.in<T>(0)[i]);
      return Status();
    };
  });
  if (kernel == nullptr) return p.cannot("input 0 is ", name(p.in(0).type), kIntegers);
  p.out(0, p.in(0).type, p.in(0).dims);
  p.in_place(0, 0);
  return kernel;
}

}  // namespace

std::span<const OpDef> bitwise_ops() {
  static constexpr OpDef kOps[] = {
      {"BitShift", "", 11, LayoutRule::kBroadcast, prepare_bit_shift},
      {"BitwiseAnd", "", 18, LayoutRule::kBroadcast, prepare_and_bits},
      {"BitwiseNot", "", 18, LayoutRule::kFollow, prepare_not_bits},
      {"BitwiseOr", "", 18, LayoutRule::kBroadcast, prepare_or_bits},
      {"BitwiseXor", "", 18, LayoutRule::kBroadcast, prepare_xor_bits},
  };
  return kOps;
}

}  // namespace quarkq::exec

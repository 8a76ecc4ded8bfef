// SPDX-License-Identifier: MIT
// Comparisons, logic and selection over broadcast inputs.
#include <functional>

#include "exec/kernels/elementwise/elementwise.h"
#include "exec/kernels/elementwise/elementwise_loops.h"
#include "exec/op_def.h"

namespace quarkq::exec {

namespace {

/// F: a function of two numbers without state.
template <typename F>
Result<Kernel> comparison(Prepare& p, F) {
  QQ_TRY(BinaryOperands operands, require_pair(p));
  RowLoop loop;
  visit_number_or_bool(p.in(0).type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    using C = Compute<T>;
    loop = row_loop<T, T, uint8_t>([](T a, T b) { return F()(C(a), C(b)); });
  });
  if (loop.run == nullptr) return p.cannot("input 0 is ", name(p.in(0).type), ", allowed: numbers and BOOL");
  p.out(0, ElementType::kBool, std::move(operands.dims));
  return rows_kernel(std::move(operands.plan), loop);
}

template <typename F>
Result<Kernel> logic(Prepare& p, F) {
  QQ_RETURN_IF_ERROR(p.require_input(0, {ElementType::kBool}));
  QQ_RETURN_IF_ERROR(p.require_input(1, {ElementType::kBool}));
  QQ_TRY(BinaryOperands operands, require_pair(p));
  p.out(0, ElementType::kBool, std::move(operands.dims));
  return rows_kernel(std::move(operands.plan),
                     row_loop<uint8_t, uint8_t, uint8_t>([](uint8_t a, uint8_t b) { return F()(a != 0, b != 0); }));
}

/// Strings have no bytes that a run could hand over, so they are compared as known values.
Result<Kernel> equal_strings(Prepare& p) {
  QQ_TRY(BinaryOperands operands, require_pair(p));
  if (p.constant(0) == nullptr || p.constant(1) == nullptr) return Prepare::defer();
  p.out(0, ElementType::kBool, std::move(operands.dims));
  return Kernel([plan = std::move(operands.plan), a = *p.constant(0), b = *p.constant(1)](const Run& run) {
    binary_run(plan, a.strings().data(), b.strings().data(), run.out<uint8_t>(0),
               [](const std::string& l, const std::string& r) { return l == r; });
    return Status();
  });
}

/// y = condition ? a : b, moved as units of the element's size.
template <typename Unit>
Kernel where_kernel(const BroadcastPlan& plan) {
  return [plan](const Run& run) {
    for_broadcast(plan, [&](const BroadcastBlock& block) {
      for (int64_t r = 0; r < block.rows; ++r) {
        const uint8_t* condition = run.in<uint8_t>(0) + block.at[0] + r * plan.steps[0].row;
        const Unit* a = run.in<Unit>(1) + block.at[1] + r * plan.steps[1].row;
        const Unit* b = run.in<Unit>(2) + block.at[2] + r * plan.steps[2].row;
        QQ_DISPATCH(exec, select_row<Unit>)
        (condition, a, b, run.out<Unit>(0) + block.out + r * block.columns,
         SelectedRow{block.columns, plan.steps[0].column, plan.steps[1].column, plan.steps[2].column});
      }
    });
    return Status();
  };
}

}  // namespace

Result<Kernel> prepare_equal(Prepare& p) {
  if (p.has(0) && p.in(0).type == ElementType::kString) return equal_strings(p);
  return comparison(p, std::equal_to<>());
}
Result<Kernel> prepare_greater(Prepare& p) { return comparison(p, std::greater<>()); }
Result<Kernel> prepare_greater_or_equal(Prepare& p) { return comparison(p, std::greater_equal<>()); }
Result<Kernel> prepare_less(Prepare& p) { return comparison(p, std::less<>()); }
Result<Kernel> prepare_less_or_equal(Prepare& p) { return comparison(p, std::less_equal<>()); }
Result<Kernel> prepare_and(Prepare& p) { return logic(p, std::logical_and<>()); }
Result<Kernel> prepare_or(Prepare& p) { return logic(p, std::logical_or<>()); }
Result<Kernel> prepare_xor(Prepare& p) { return logic(p, std::not_equal_to<>()); }

Result<Kernel> prepare_where(Prepare& p) {
  QQ_RETURN_IF_ERROR(p.require_input(0, {ElementType::kBool}));
  QQ_RETURN_IF_ERROR(p.require_input(1));
  QQ_RETURN_IF_ERROR(p.require_input(2));
  const ElementType type = p.in(1).type;
  if (type != p.in(2).type) {
    return p.corrupt("values are ", name(type), " and ", name(p.in(2).type), ", must be of one type");
  }
  QQ_TRY(ir::Shape dims, broadcast_inputs(p, 0, 3));
  QQ_TRY(const int64_t bytes, element_bytes(p, type));
  const BroadcastPlan plan = plan_broadcast(dims, {p.in(0).dims, p.in(1).dims, p.in(2).dims});
  p.out(0, type, std::move(dims));
  switch (bytes) {
    case 1: return where_kernel<uint8_t>(plan);
    case 2: return where_kernel<uint16_t>(plan);
    case 4: return where_kernel<uint32_t>(plan);
    case 8: return where_kernel<uint64_t>(plan);
    default: return p.cannot("input 1 is ", name(type), ", allowed: elements of 1 to 8 bytes");
  }
}

// Operators on the bits of integers: BitShift, BitwiseAnd, BitwiseOr, BitwiseXor, BitwiseNot.

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

/// Shifts by the width of the type or more leave nothing; so do negative ones, whose patterns are larger.
template <bool kLeft>
struct Shift {
  template <typename T>
  uint64_t operator()(T a, T b) const {
    const uint64_t wide = a, shift = b;
    if (shift >= 8 * sizeof(T)) return 0;
    return kLeft ? wide << shift : wide >> shift;
  }
};

/// Shifts to the right that fill with the sign; shifts that leave nothing else leave that.
struct ArithmeticShift {
  template <typename T>
  uint64_t operator()(T a, T b) const {
    const int64_t wide = static_cast<std::make_signed_t<T>>(a);
    return static_cast<uint64_t>(wide >> std::min<uint64_t>(b, 63));
  }
};

Result<Kernel> prepare_bit_shift(Prepare& p) {
  const std::string direction = p.node().string_or("direction", "");
  if (direction != "LEFT" && direction != "RIGHT") {
    return p.corrupt("direction is '", direction, "', allowed: LEFT, RIGHT");
  }
  QQ_RETURN_IF_ERROR(p.require_input(0));
  constexpr int64_t kShiftsSigned = 28;  // opset
  const ElementType type = p.in(0).type;
  const bool is_signed = type == ElementType::kInt8 || type == ElementType::kInt16 || type == ElementType::kInt32 ||
                         type == ElementType::kInt64;
  if (is_signed && p.opset() < kShiftsSigned)
    return p.corrupt("input 0 is ", name(type), ", allowed below opset ", kShiftsSigned, ": UINT8 to UINT64");
  if (is_signed && direction == "RIGHT") return pattern_kernel(p, ArithmeticShift());
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

// SPDX-License-Identifier: MIT
// Arithmetic over two or more broadcast inputs. float32 runs in vectorized loops (elementwise.isa.cpp), other types in
// scalar code: integers wrap, 16-bit floats compute in float32.
#include "exec/kernels/elementwise/elementwise.h"

#include "exec/kernels/elementwise/elementwise_loops.h"
#include "exec/op_def.h"

namespace quarkq::exec {
namespace {

/// One arithmetic operator on numbers of any type.
template <Binary kOp, typename C>
C compute(C a, C b) {
  if constexpr (kOp == Binary::kMin) return a < b || a != a ? a : b;
  if constexpr (kOp == Binary::kMax) return a > b || a != a ? a : b;
  if constexpr (kOp == Binary::kPRelu) return a < C(0) ? static_cast<C>(compute<Binary::kMul>(a, b)) : a;
  if constexpr (std::is_floating_point_v<C>) {
    if constexpr (kOp == Binary::kAdd) return a + b;
    if constexpr (kOp == Binary::kSub) return a - b;
    if constexpr (kOp == Binary::kMul) return a * b;
    if constexpr (kOp == Binary::kDiv) return a / b;
  } else {
    using Pattern = std::make_unsigned_t<C>;  // unsigned arithmetic wraps
    const uint64_t x = static_cast<Pattern>(a), y = static_cast<Pattern>(b);
    if constexpr (kOp == Binary::kAdd) return static_cast<C>(x + y);
    if constexpr (kOp == Binary::kSub) return static_cast<C>(x - y);
    if constexpr (kOp == Binary::kMul) return static_cast<C>(x * y);
    if constexpr (kOp == Binary::kDiv) {
      if (b == static_cast<C>(-1)) return std::is_signed_v<C> ? static_cast<C>(0 - x) : static_cast<C>(a == b);
      return static_cast<C>(a / b);
    }
  }
}

/// The loop of an operator on numbers of this type; none for float32, which binary_loop() has.
template <Binary kOp>
RowLoop typed_loop(ElementType type) {
  RowLoop loop;
  visit_number(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    using C = Compute<T>;
    if constexpr (!std::is_same_v<T, float>)
      loop = row_loop<T, T, T>([](T l, T r) { return static_cast<T>(compute<kOp, C>(C(l), C(r))); });
  });
  return loop;
}

RowLoop typed_loop(Binary op, ElementType type) {
  switch (op) {
    case Binary::kAdd: return typed_loop<Binary::kAdd>(type);
    case Binary::kSub: return typed_loop<Binary::kSub>(type);
    case Binary::kMul: return typed_loop<Binary::kMul>(type);
    case Binary::kDiv: return typed_loop<Binary::kDiv>(type);
    case Binary::kMin: return typed_loop<Binary::kMin>(type);
    case Binary::kMax: return typed_loop<Binary::kMax>(type);
    case Binary::kPRelu: return typed_loop<Binary::kPRelu>(type);
  }
  return {};
}

/// An operator on numbers of one type.
struct Arithmetic {
  Binary op;
  RowLoop typed;  ///< none: float32

  void run(const BroadcastPlan& plan, const std::byte* a, const std::byte* b, std::byte* y) const {
    if (typed.run != nullptr) return run_rows(plan, typed, a, b, y);
    const auto *left = reinterpret_cast<const float*>(a), *right = reinterpret_cast<const float*>(b);
    auto* result = reinterpret_cast<float*>(y);
    for_broadcast(plan, [&](const BroadcastBlock& at) {
      QQ_DISPATCH(exec, binary_loop)
      (op, {left + at.at[0], right + at.at[1], result + at.out, at.rows, at.columns, plan.steps[0], plan.steps[1]});
    });
  }
};

/// Is one of `count` integers zero? Nothing for types whose division by zero is defined.
using FindZero = bool (*)(const std::byte* numbers, int64_t count);
FindZero zero_finder(ElementType type) {
  FindZero find = nullptr;
  visit_integer(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    find = [](const std::byte* numbers, int64_t count) {
      const auto* first = reinterpret_cast<const T*>(numbers);
      return std::find(first, first + count, T(0)) != first + count;
    };
  });
  return find;
}

/// Fails when an integer divisor is zero, which a machine traps on.
struct DivisorCheck {
  FindZero find = nullptr;  ///< null: nothing is checked
  std::string label;
  int64_t count = 0;

  Status check(const std::byte* divisors) const {
    if (find == nullptr || !find(divisors, count)) return Status();
    return bad_data(label, ": integer division by zero");
  }
};
/// `has_divisor`: input 1 divides.
DivisorCheck divisor_check(const Prepare& p, bool has_divisor) {
  return {has_divisor ? zero_finder(p.in(1).type) : nullptr, p.label(), product(p.in(1).dims)};
}

Status unknown_type(const Prepare& p) { return p.cannot("input 0 is ", name(p.in(0).type), ", allowed: numbers"); }

void reuse_input(Prepare& p, const ir::Shape& dims) {
  for (size_t i = 0; i < 2; ++i) {
    if (p.in(i).dims == dims && p.in(i).type == p.in(0).type) return p.in_place(0, i);
  }
}

Result<Kernel> prepare_arithmetic(Prepare& p, Binary op) {
  QQ_TRY(BinaryOperands operands, require_pair(p));
  ir::Shape& dims = operands.dims;
  if (op == Binary::kPRelu && dims != p.in(0).dims) {
    return p.corrupt("slope ", shape_text(p.in(1).dims), " does not broadcast to ", shape_text(p.in(0).dims));
  }
  const ElementType type = p.in(0).type;
  if (!is_number(type)) return unknown_type(p);
  reuse_input(p, dims);
  p.out(0, type, std::move(dims));
  return Kernel([plan = std::move(operands.plan), divisors = divisor_check(p, op == Binary::kDiv),
                 arithmetic = Arithmetic{op, typed_loop(op, type)}](const Run& run) {
    QQ_RETURN_IF_ERROR(divisors.check(run.inputs[1]));
    arithmetic.run(plan, run.inputs[0], run.inputs[1], run.outputs[0]);
    return Status();
  });
}

template <Binary kOp>
Result<Kernel> prepare_binary(Prepare& p) {
  return prepare_arithmetic(p, kOp);
}

// ---- any number of inputs -------------------------------------------------------------------------------------------

/// Divides `count` numbers.
using Divide = void (*)(std::byte* numbers, int64_t count, float divisor);
Divide divide_by(ElementType type) {
  Divide divide = nullptr;
  visit_number(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    divide = [](std::byte* numbers, int64_t count, float divisor) {
      auto* y = reinterpret_cast<T*>(numbers);
      for (int64_t i = 0; i < count; ++i) y[i] = static_cast<T>(Compute<T>(y[i]) / static_cast<Compute<T>>(divisor));
    };
  });
  return divide;
}

/// Walks of an operator over n inputs: the first joins inputs 0 and 1, each further one the result and the next input.
struct Variadic {
  Arithmetic arithmetic;
  std::vector<BroadcastPlan> plans;
  Divide divide = nullptr;  ///< by the number of inputs at the end; null: not at all
  int64_t count = 0, bytes = 0;

  Status operator()(const Run& run) const {
    std::byte* y = run.outputs[0];
    if (plans.empty() && run.inputs[0] != y) std::copy_n(run.inputs[0], bytes, y);
    for (size_t i = 0; i < plans.size(); ++i)
      arithmetic.run(plans[i], i == 0 ? run.inputs[0] : y, run.inputs[i + 1], y);
    if (divide != nullptr) divide(y, count, static_cast<float>(plans.size() + 1));
    return Status();
  }
};

Result<Kernel> prepare_inputs(Prepare& p, Binary op, bool is_mean) {
  const size_t count = p.input_count();
  for (size_t i = 0; i < std::max<size_t>(count, 1); ++i) {
    QQ_RETURN_IF_ERROR(p.require_input(i));
    if (p.in(i).type != p.in(0).type) {
      return p.corrupt("inputs are ", name(p.in(0).type), " and ", name(p.in(i).type), ", must be of one type");
    }
  }
  QQ_TRY(ir::Shape dims, broadcast_inputs(p, 0, count));
  const ElementType type = p.in(0).type;
  if (!is_number(type)) return unknown_type(p);
  Variadic kernel{.arithmetic = {op, typed_loop(op, type)}, .plans = {}, .divide = is_mean ? divide_by(type) : nullptr};
  for (size_t i = 1; i < count; ++i) {
    kernel.plans.push_back(plan_broadcast(dims, {i == 1 ? p.in(0).dims : dims, p.in(i).dims}));
  }
  kernel.count = product(dims);
  kernel.bytes = kernel.count * bits(type) / 8;
  if (p.in(0).dims == dims) p.in_place(0, 0);
  p.out(0, type, std::move(dims));
  return Kernel(std::move(kernel));
}

template <Binary kOp, bool kMean>
Result<Kernel> prepare_variadic(Prepare& p) {
  return prepare_inputs(p, kOp, kMean);
}

// ---- Mod ------------------------------------------------------------------------------------------------------------

/// Remainder with the sign of the divisor, as Python has it. REQUIRES: b != 0 for integers.
template <typename T>
T floor_mod(T a, T b) {
  if constexpr (kIsReal<T>) {
    const Compute<T> divisor = b, r = std::fmod(Compute<T>(a), divisor);
    if (r == 0) return static_cast<T>(std::copysign(r, divisor));
    return static_cast<T>((r < 0) != (divisor < 0) ? r + divisor : r);
  } else {
    if (b == static_cast<T>(-1) && std::is_signed_v<T>) return T(0);
    const T r = static_cast<T>(a % b);
    return r != 0 && ((r < 0) != (b < 0)) ? static_cast<T>(r + b) : r;
  }
}

/// Remainder with the sign of the dividend, as C has it.
template <typename T>
T c_mod(T a, T b) {
  if constexpr (kIsReal<T>) {
    return static_cast<T>(std::fmod(Compute<T>(a), Compute<T>(b)));
  } else {
    if (b == static_cast<T>(-1) && std::is_signed_v<T>) return T(0);
    return static_cast<T>(a % b);
  }
}

Result<Kernel> prepare_mod(Prepare& p) {
  QQ_TRY(BinaryOperands operands, require_pair(p));
  const ElementType type = p.in(0).type;
  const bool c_like = p.node().int_or("fmod", 0) != 0;
  constexpr int64_t kFloorsReals = 28;  // opset
  if (is_floating(type) && !c_like && p.opset() < kFloorsReals)
    return p.corrupt("fmod is 0 for ", name(type), ", must be 1 below opset ", kFloorsReals);
  RowLoop loop;
  visit_real(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    loop = c_like ? row_loop<T, T, T>([](T a, T b) { return c_mod(a, b); })
                  : row_loop<T, T, T>([](T a, T b) { return floor_mod(a, b); });
  });
  visit_integer(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    loop = c_like ? row_loop<T, T, T>([](T a, T b) { return c_mod(a, b); })
                  : row_loop<T, T, T>([](T a, T b) { return floor_mod(a, b); });
  });
  if (loop.run == nullptr) return unknown_type(p);
  p.out(0, type, std::move(operands.dims));
  return Kernel([plan = std::move(operands.plan), divisors = divisor_check(p, true), loop](const Run& run) {
    QQ_RETURN_IF_ERROR(divisors.check(run.inputs[1]));
    run_rows(plan, loop, run.inputs[0], run.inputs[1], run.outputs[0]);
    return Status();
  });
}

using enum LayoutRule;
constexpr OpDef kElementwiseOps[] = {
    {"Add", "", 1, kPlain, prepare_binary<Binary::kAdd>},
    {"Add", "", 7, kBroadcast, prepare_binary<Binary::kAdd>},
    {"And", "", 1, kPlain, prepare_and},
    {"And", "", 7, kBroadcast, prepare_and},
    {"BitCast", "", 26, kPlain, prepare_bit_cast},
    {"Cast", "", 6, LayoutRule::kFollow, prepare_cast},
    {"CastLike", "", 15, LayoutRule::kFollow, prepare_cast_like},
    {"Div", "", 1, kPlain, prepare_binary<Binary::kDiv>},
    {"Div", "", 7, kBroadcast, prepare_binary<Binary::kDiv>},
    {"Equal", "", 1, kPlain, prepare_equal},
    {"Equal", "", 7, kBroadcast, prepare_equal},
    {"Greater", "", 1, kPlain, prepare_greater},
    {"Greater", "", 7, kBroadcast, prepare_greater},
    {"GreaterOrEqual", "", 12, kBroadcast, prepare_greater_or_equal},
    {"Less", "", 1, kPlain, prepare_less},
    {"Less", "", 7, kBroadcast, prepare_less},
    {"LessOrEqual", "", 12, kBroadcast, prepare_less_or_equal},
    {"Max", "", 1, kBroadcast, prepare_variadic<Binary::kMax, false>},
    {"Mean", "", 1, kBroadcast, prepare_variadic<Binary::kAdd, true>},
    {"Min", "", 1, kBroadcast, prepare_variadic<Binary::kMin, false>},
    {"Mod", "", 10, kBroadcast, prepare_mod},
    {"Mul", "", 1, kPlain, prepare_binary<Binary::kMul>},
    {"Mul", "", 7, kBroadcast, prepare_binary<Binary::kMul>},
    {"Or", "", 1, kPlain, prepare_or},
    {"Or", "", 7, kBroadcast, prepare_or},
    {"PRelu", "", 1, kPlain, prepare_binary<Binary::kPRelu>},
    {"PRelu", "", 7, kBroadcast, prepare_binary<Binary::kPRelu>},
    {"Pow", "", 1, kPlain, prepare_pow},
    {"Pow", "", 7, kBroadcast, prepare_pow},
    {"Sub", "", 1, kPlain, prepare_binary<Binary::kSub>},
    {"Sub", "", 7, kBroadcast, prepare_binary<Binary::kSub>},
    {"Sum", "", 1, kBroadcast, prepare_variadic<Binary::kAdd, false>},
    {"Where", "", 9, kBroadcast, prepare_where},
    {"Xor", "", 1, kPlain, prepare_xor},
    {"Xor", "", 7, kBroadcast, prepare_xor},
};

}  // namespace

std::span<const OpDef> elementwise_ops() { return kElementwiseOps; }

}  // namespace quarkq::exec

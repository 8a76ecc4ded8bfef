// SPDX-License-Identifier: MIT
// Arithmetic over two or more broadcast inputs. float32 runs in vectorized loops (elementwise.isa.cpp), other types in
// scalar code: integers wrap, 16-bit floats compute in float32.
#include "exec/kernels/elementwise/elementwise.h"

#include "exec/kernels/elementwise/elementwise_loops.h"
#include "exec/op_families.h"

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
    const auto x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);  // unsigned arithmetic wraps
    if constexpr (kOp == Binary::kAdd) return static_cast<C>(x + y);
    if constexpr (kOp == Binary::kSub) return static_cast<C>(x - y);
    if constexpr (kOp == Binary::kMul) return static_cast<C>(x * y);
    if constexpr (kOp == Binary::kDiv) {
      if (b == static_cast<C>(-1)) return std::is_signed_v<C> ? static_cast<C>(0 - x) : static_cast<C>(a == b);
      return static_cast<C>(a / b);
    }
  }
}

template <Binary kOp, typename T>
void binary_typed(const BroadcastPlan& plan, const T* a, const T* b, T* y) {
  if constexpr (std::is_same_v<T, float>) {
    for_broadcast(plan, [&](const BroadcastBlock& at) {
      QQ_DISPATCH(exec, binary_loop)
      (kOp, {a + at.at[0], b + at.at[1], y + at.out, at.rows, at.columns, plan.steps[0], plan.steps[1]});
    });
  } else {
    using C = Compute<T>;
    binary_run(plan, a, b, y, [](T l, T r) { return static_cast<T>(compute<kOp, C>(C(l), C(r))); });
  }
}

/// Fails when an integer divisor is zero, which a machine traps on.
template <typename T>
Status check_divisors(const std::string& label, const T* b, int64_t n) {
  if constexpr (std::is_integral_v<T>) {
    if (std::find(b, b + n, T(0)) != b + n) return bad_data(label, ": integer division by zero");
  }
  return Status();
}

Status unknown_type(const Prepare& p) { return p.cannot("input 0 is ", name(p.in(0).type), ", allowed: numbers"); }

void reuse_input(Prepare& p, const ir::Shape& dims) {
  for (size_t i = 0; i < 2; ++i) {
    if (p.in(i).dims == dims && p.in(i).type == p.in(0).type) return p.in_place(0, i);
  }
}

template <Binary kOp>
Result<Kernel> prepare_binary(Prepare& p) {
  QQ_TRY(BinaryOperands operands, require_pair(p));
  ir::Shape& dims = operands.dims;
  if (kOp == Binary::kPRelu && dims != p.in(0).dims) {
    return p.corrupt("slope ", shape_text(p.in(1).dims), " does not broadcast to ", shape_text(p.in(0).dims));
  }
  const BroadcastPlan& plan = operands.plan;
  const int64_t divisors = product(p.in(1).dims);
  Kernel kernel;
  visit_number(p.in(0).type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    kernel = [plan, divisors, label = p.label()](const Run& run) {
      if (kOp == Binary::kDiv) QQ_RETURN_IF_ERROR(check_divisors(label, run.in<T>(1), divisors));
      binary_typed<kOp>(plan, run.in<T>(0), run.in<T>(1), run.out<T>(0));
      return Status();
    };
  });
  if (kernel == nullptr) return unknown_type(p);
  reuse_input(p, dims);
  p.out(0, p.in(0).type, std::move(dims));
  return kernel;
}

// ---- any number of inputs -------------------------------------------------------------------------------------------

/// Walks of an operator over n inputs: the first joins inputs 0 and 1, each further one the result and the next input.
template <Binary kOp, typename T>
Kernel variadic_kernel(std::vector<BroadcastPlan> plans, float divisor, int64_t count) {
  return [plans = std::move(plans), divisor, count](const Run& run) {
    T* y = run.out<T>(0);
    if (plans.empty() && run.in<T>(0) != y) std::copy_n(run.in<T>(0), count, y);
    for (size_t i = 0; i < plans.size(); ++i) {
      binary_typed<kOp>(plans[i], i == 0 ? run.in<T>(0) : y, run.in<T>(i + 1), y);
    }
    if (divisor != 1.0f) {
      for (int64_t i = 0; i < count; ++i) y[i] = static_cast<T>(Compute<T>(y[i]) / static_cast<Compute<T>>(divisor));
    }
    return Status();
  };
}

template <Binary kOp, bool kMean>
Result<Kernel> prepare_variadic(Prepare& p) {
  const size_t count = p.input_count();
  for (size_t i = 0; i < std::max<size_t>(count, 1); ++i) {
    QQ_RETURN_IF_ERROR(p.require_input(i));
    if (p.in(i).type != p.in(0).type) {
      return p.corrupt("inputs are ", name(p.in(0).type), " and ", name(p.in(i).type), ", must be of one type");
    }
  }
  QQ_TRY(ir::Shape dims, broadcast_inputs(p, 0, count));
  std::vector<BroadcastPlan> plans;
  for (size_t i = 1; i < count; ++i) {
    plans.push_back(plan_broadcast(dims, {i == 1 ? p.in(0).dims : dims, p.in(i).dims}));
  }
  Kernel kernel;
  visit_number(p.in(0).type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    kernel = variadic_kernel<kOp, T>(plans, kMean ? static_cast<float>(count) : 1.0f, product(dims));
  });
  if (kernel == nullptr) return unknown_type(p);
  if (p.in(0).dims == dims) p.in_place(0, 0);
  p.out(0, p.in(0).type, std::move(dims));
  return kernel;
}

// ---- Mod, Pow -------------------------------------------------------------------------------------------------------

/// Remainder with the sign of the divisor, as Python has it. REQUIRES: b != 0.
template <typename T>
T floor_mod(T a, T b) {
  if (b == static_cast<T>(-1) && std::is_signed_v<T>) return T(0);
  const T r = static_cast<T>(a % b);
  return r != 0 && ((r < 0) != (b < 0)) ? static_cast<T>(r + b) : r;
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

template <typename T>
Kernel mod_kernel(const Prepare& p, const BroadcastPlan& plan, bool c_like) {
  return [plan, c_like, label = p.label(), divisors = product(p.in(1).dims)](const Run& run) {
    const T* a = run.in<T>(0);
    const T* b = run.in<T>(1);
    QQ_RETURN_IF_ERROR(check_divisors(label, b, divisors));
    if constexpr (std::is_integral_v<T>) {
      if (!c_like) {
        binary_run(plan, a, b, run.out<T>(0), floor_mod<T>);
        return Status();
      }
    }
    binary_run(plan, a, b, run.out<T>(0), c_mod<T>);
    return Status();
  };
}

Result<Kernel> prepare_mod(Prepare& p) {
  QQ_TRY(BinaryOperands operands, require_pair(p));
  const bool c_like = p.node().int_or("fmod", 0) != 0;
  if (is_floating(p.in(0).type) && !c_like) return p.corrupt("fmod is 0 for ", name(p.in(0).type), ", must be 1");
  Kernel kernel;
  visit_number(p.in(0).type,
               [&](auto tag) { kernel = mod_kernel<typename decltype(tag)::type>(p, operands.plan, c_like); });
  if (kernel == nullptr) return unknown_type(p);
  p.out(0, p.in(0).type, std::move(operands.dims));
  return kernel;
}

template <typename T>
T power(T base, double exponent) {
  using C = Compute<T>;
  if constexpr (std::is_integral_v<T>) {
    if (exponent < 0 || exponent != std::floor(exponent)) {
      const double y = std::pow(static_cast<double>(base), exponent);
      return std::isfinite(y) && std::fabs(y) < 9e18 ? static_cast<T>(static_cast<int64_t>(y)) : T(0);
    }
    uint64_t result = 1, square = static_cast<uint64_t>(base);  // wraps like repeated multiplication
    for (auto n = static_cast<uint64_t>(std::min(exponent, 1e18)); n > 0; n >>= 1, square *= square) {
      if (n & 1) result *= square;
    }
    return static_cast<T>(result);
  } else {
    const C x = C(base);
    if (exponent == 2.0) return static_cast<T>(x * x);
    if (exponent == 0.5) return static_cast<T>(std::sqrt(x));
    return static_cast<T>(std::pow(x, static_cast<C>(exponent)));
  }
}

/// The powers that decomposed normalizations and activations take. True when `exponent` is one of them.
bool common_power(const float* x, float* y, int64_t n, double exponent) {
  const bool known = exponent == 2.0 || exponent == 3.0 || exponent == 0.5 || exponent == -0.5 || exponent == -1.0;
  if (!known) return false;
  for_elements(n, [&](int64_t begin, int64_t end) {
    QQ_DISPATCH(exec, power_loop)(static_cast<float>(exponent), x + begin, y + begin, end - begin);
  });
  return true;
}

/// The exponents' type is free, so they are read as doubles first.
Result<Kernel> prepare_pow(Prepare& p) {
  QQ_RETURN_IF_ERROR(p.require_input(0));
  QQ_RETURN_IF_ERROR(p.require_input(1));
  QQ_TRY(BinaryOperands operands, broadcast_pair(p));
  const BroadcastPlan& plan = operands.plan;
  const int64_t count = product(p.in(1).dims);
  Kernel kernel;
  const bool known = visit_number(p.in(1).type, [&](auto exponent_tag) {
    using E = typename decltype(exponent_tag)::type;
    void (*const read)(const Run&, int64_t) = [](const Run& run, int64_t n) {
      auto* exponents = reinterpret_cast<double*>(run.scratch);
      for (int64_t i = 0; i < n; ++i) exponents[i] = static_cast<double>(Compute<E>(run.in<E>(1)[i]));
    };
    visit_number(p.in(0).type, [&](auto tag) {
      using T = typename decltype(tag)::type;
      kernel = [plan, count, read, outputs = product(operands.dims)](const Run& run) {
        read(run, count);
        const auto* exponents = reinterpret_cast<const double*>(run.scratch);
        if constexpr (std::is_same_v<T, float>) {
          if (count == 1 && common_power(run.in<T>(0), run.out<T>(0), outputs, *exponents)) return Status();
        }
        binary_run(plan, run.in<T>(0), exponents, run.out<T>(0), power<T>);
        return Status();
      };
    });
  });
  if (kernel == nullptr)
    return p.cannot(known ? "input 0 is " : "input 1 is ", name(p.in(known ? 0 : 1).type), ", allowed: numbers");
  p.scratch(static_cast<size_t>(count) * sizeof(double));
  p.out(0, p.in(0).type, std::move(operands.dims));
  return kernel;
}

using enum LayoutRule;
constexpr OpDef kElementwiseOps[] = {
    {"Add", "", 1, kPlain, prepare_binary<Binary::kAdd>},
    {"Add", "", 7, kBroadcast, prepare_binary<Binary::kAdd>},
    {"And", "", 1, kPlain, prepare_and},
    {"And", "", 7, kBroadcast, prepare_and},
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

// SPDX-License-Identifier: MIT
// Operators with one data input that work element by element, in any memory order. float32 runs in vectorized loops
// (activation.isa.cpp), 16-bit floats pass through them block by block, the rest is scalar code.
#include <limits>

#include "exec/kernels/elementwise/unary_loops.h"
#include "exec/kernels/shared/support.h"
#include "exec/op_def.h"
#include "ir/quantizing_ops.h"

namespace quarkq::exec {
namespace {

constexpr std::initializer_list<ElementType> kReals = {ElementType::kFloat, ElementType::kFloat16,
                                                       ElementType::kBFloat16, ElementType::kDouble};

/// [begin, end) of a 16-bit float tensor through the float32 loop.
template <typename T>
void half_blocks(const UnaryParams& params, const T* x, T* y, int64_t begin, int64_t end) {
  constexpr int64_t kBlock = 1024;
  float block[kBlock];
  for (int64_t at = begin; at < end; at += kBlock) {
    const int64_t n = std::min(kBlock, end - at);
    to_floats(x + at, block, n);
    QQ_DISPATCH(exec, unary_loop)(params, block, block, n);
    from_floats(block, y + at, n);
  }
}

template <typename T>
void unary_run(const UnaryParams& params, const T* x, T* y, int64_t n) {
  for_elements(n, [&](int64_t begin, int64_t end) {
    if constexpr (std::is_same_v<T, float>) {
      QQ_DISPATCH(exec, unary_loop)(params, x + begin, y + begin, end - begin);
    } else if constexpr (kIsHalf<T>) {
      half_blocks(params, x, y, begin, end);
    } else {
      for (int64_t i = begin; i < end; ++i) y[i] = static_cast<T>(unary_double(params, static_cast<double>(x[i])));
    }
  });
}

/// Declares the output like the input and returns the kernel of a real type.
Result<Kernel> real_kernel(Prepare& p, const UnaryParams& params) {
  QQ_RETURN_IF_ERROR(p.require_input(0, kReals));
  const ElementType type = p.in(0).type;
  const int64_t n = product(p.in(0).dims);
  p.out(0, type, p.in(0).dims);
  p.in_place(0, 0);
  Kernel kernel;
  visit_real(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    kernel = [params, n](const Run& run) {
      unary_run(params, run.in<T>(0), run.out<T>(0), n);
      return Status();
    };
  });
  return kernel;
}

/// y[i] = f(x[i]) for single values of any types.
template <typename T, typename U, typename F>
void map_elements(const T* x, U* y, int64_t n, const F& f) {
  for_elements(n, [&](int64_t begin, int64_t end) {
    const T* const from = x;  // copies: through references every store of a byte could change them
    U* const to = y;
#pragma omp simd
    for (int64_t i = begin; i < end; ++i) to[i] = static_cast<U>(f(from[i]));
  });
}

template <typename T>
T unary_integer(Unary op, T x) {
  using Wide = std::make_unsigned_t<T>;  // negating the smallest value wraps
  switch (op) {
    case Unary::kRelu: return std::max(x, T(0));
    case Unary::kNeg: return static_cast<T>(Wide(0) - static_cast<Wide>(x));
    case Unary::kAbs: return x < T(0) ? static_cast<T>(Wide(0) - static_cast<Wide>(x)) : x;
    default: return static_cast<T>((x > T(0)) - (x < T(0)));  // kSign
  }
}

/// Relu, Neg, Abs, Sign: of integers, too.
template <Unary kOp>
Result<Kernel> prepare_signed(Prepare& p) {
  QQ_RETURN_IF_ERROR(p.require_input(0));
  if (!is_integer(p.in(0).type)) return real_kernel(p, {kOp});
  const int64_t n = product(p.in(0).dims);
  Kernel kernel;
  visit_integer(p.in(0).type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    kernel = [n](const Run& run) {
      map_elements(run.in<T>(0), run.out<T>(0), n, [](T x) { return unary_integer(kOp, x); });
      return Status();
    };
  });
  if (kernel == nullptr) return p.cannot("input 0 is ", name(p.in(0).type), ", allowed: integers of 8 to 64 bits");
  p.out(0, p.in(0).type, p.in(0).dims);
  p.in_place(0, 0);
  return kernel;
}

template <Unary kOp>
Result<Kernel> prepare_unary(Prepare& p) {
  return real_kernel(p, {kOp});
}

/// Attributes of an operator and what they are when the model leaves them out.
struct Defaults {
  const char* first;
  float first_value;
  const char* second = "";
  float second_value = 0;
};

constexpr Defaults defaults_of(Unary op) {
  switch (op) {
    case Unary::kLeakyRelu: return {"alpha", 0.01f};
    case Unary::kHardSigmoid: return {"alpha", 0.2f, "beta", 0.5f};
    case Unary::kSelu: return {"alpha", 1.67326319217681884765625f, "gamma", 1.05070102214813232421875f};
    case Unary::kClip: return {"min", std::numeric_limits<float>::lowest(), "max", std::numeric_limits<float>::max()};
    default: return {"alpha", 1.0f};  // Elu, Celu, ThresholdedRelu
  }
}

template <Unary kOp>
Result<Kernel> prepare_with_attributes(Prepare& p) {
  constexpr Defaults kDefaults = defaults_of(kOp);
  UnaryParams params{kOp, p.node().float_or(kDefaults.first, kDefaults.first_value)};
  params.beta = p.node().float_or(kDefaults.second, kDefaults.second_value);
  if (kOp == Unary::kCelu && params.alpha == 0.0f) return p.corrupt("alpha is 0");
  return real_kernel(p, params);
}

Result<Kernel> prepare_gelu(Prepare& p) {
  const std::string approximate = p.node().string_or("approximate", "none");
  if (approximate == "none") return real_kernel(p, {Unary::kGelu});
  if (approximate == "tanh") return real_kernel(p, {Unary::kGeluTanh});
  return p.corrupt("approximate is '", approximate, "', allowed: none, tanh");
}

Result<Kernel> prepare_quick_gelu(Prepare& p) {
  return real_kernel(p, {Unary::kSwish, p.node().float_or("alpha", 1.702f)});
}

/// Integers go through double: what leaves the range of the type saturates.
Result<Kernel> prepare_shrink(Prepare& p) {
  QQ_RETURN_IF_ERROR(p.require_input(0));
  const UnaryParams params{Unary::kShrink, p.node().float_or("bias", 0.0f), p.node().float_or("lambd", 0.5f)};
  if (is_floating(p.in(0).type)) return real_kernel(p, params);
  const int64_t n = product(p.in(0).dims);
  Kernel kernel;
  visit_integer(p.in(0).type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    kernel = [params, n](const Run& run) {
      constexpr auto kLow = static_cast<double>(std::numeric_limits<T>::lowest());
      constexpr auto kHigh = static_cast<double>(std::numeric_limits<T>::max());
      for (int64_t i = 0; i < n; ++i) {
        const double y = unary_double(params, static_cast<double>(run.in<T>(0)[i]));
        run.out<T>(0)[i] = y >= kHigh ? std::numeric_limits<T>::max() : y > kLow ? static_cast<T>(y) : T(kLow);
      }
      return Status();
    };
  });
  if (kernel == nullptr) return p.cannot("input 0 is ", name(p.in(0).type), ", allowed: numbers");
  p.out(0, p.in(0).type, p.in(0).dims);
  p.in_place(0, 0);
  return kernel;
}

/// Clip with its limits as inputs: they are read at every run, constant or not.
template <typename T>
Kernel clip_kernel(int64_t n) {
  return [n](const Run& run) {
    using C = Compute<T>;
    constexpr bool kReal = std::is_floating_point_v<C>;
    const C low = has_input(run, 1) ? C(*run.in<T>(1))
                  : kReal           ? -std::numeric_limits<C>::infinity()
                                    : std::numeric_limits<C>::lowest();
    const C high = has_input(run, 2) ? C(*run.in<T>(2))
                   : kReal           ? std::numeric_limits<C>::infinity()
                                     : std::numeric_limits<C>::max();
    if constexpr (std::is_same_v<T, float>) {
      unary_run({Unary::kClip, low, high}, run.in<T>(0), run.out<T>(0), n);
    } else {
      map_elements(run.in<T>(0), run.out<T>(0), n, [low, high](T value) {
        const C x = C(value);
        const C at_least = x < low ? low : x;
        return at_least > high ? high : at_least;
      });
    }
    return Status();
  };
}

Result<Kernel> prepare_clip(Prepare& p) {
  QQ_RETURN_IF_ERROR(p.require_input(0));
  const Spec& x = p.in(0);
  for (size_t i = 1; i < 3; ++i) {
    if (!p.has(i)) continue;
    if (p.in(i).type != x.type) return p.corrupt("limit ", i, " is ", name(p.in(i).type), ", input 0 ", name(x.type));
    if (product(p.in(i).dims) != 1) return p.corrupt("limit ", i, " is not a scalar");
  }
  const int64_t n = product(x.dims);
  Kernel kernel;
  visit_number(x.type, [&](auto tag) { kernel = clip_kernel<typename decltype(tag)::type>(n); });
  if (kernel == nullptr) return p.cannot("input 0 is ", name(x.type), ", allowed: numbers");
  p.out(0, x.type, x.dims);
  p.in_place(0, 0);
  return kernel;
}

Result<Kernel> prepare_not(Prepare& p) {
  QQ_RETURN_IF_ERROR(p.require_input(0, {ElementType::kBool}));
  const int64_t n = product(p.in(0).dims);
  p.out(0, ElementType::kBool, p.in(0).dims);
  p.in_place(0, 0);
  return Kernel([n](const Run& run) {
    map_elements(run.in<uint8_t>(0), run.out<uint8_t>(0), n, [](uint8_t x) { return x == 0; });
    return Status();
  });
}

/// A bool output that `test` decides.
template <typename Test>
Result<Kernel> predicate_kernel(Prepare& p, const Test& test) {
  QQ_RETURN_IF_ERROR(p.require_input(0, kReals));
  const int64_t n = product(p.in(0).dims);
  Kernel kernel;
  visit_real(p.in(0).type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    kernel = [n, test](const Run& run) {
      map_elements(run.in<T>(0), run.out<uint8_t>(0), n, [&test](T x) { return test(Compute<T>(x)); });
      return Status();
    };
  });
  p.out(0, ElementType::kBool, p.in(0).dims);
  return kernel;
}

Result<Kernel> prepare_is_nan(Prepare& p) {
  return predicate_kernel(p, [](auto x) { return x != x; });
}

Result<Kernel> prepare_is_inf(Prepare& p) {
  const bool positive = p.node().int_or("detect_positive", 1) != 0;
  const bool negative = p.node().int_or("detect_negative", 1) != 0;
  return predicate_kernel(p, [=](auto x) { return std::isinf(x) && (x > 0 ? positive : negative); });
}

Result<Kernel> prepare_identity(Prepare& p) {
  QQ_RETURN_IF_ERROR(p.require_input(0));
  p.alias(0, 0, p.in(0).dims);
  return no_kernel();
}

/// Inference: the output is the input, the mask keeps everything.
Result<Kernel> prepare_dropout(Prepare& p) {
  QQ_RETURN_IF_ERROR(p.require_input(0));
  if (p.has(2)) {
    QQ_TRY(const auto training, p.known_ints(2));
    if (!training) return Prepare::defer();
    if (!training->empty() && training->front() != 0) {
      if (!p.has(1)) return p.cannot("training_mode is true, allowed: false, or a ratio of 0");
      QQ_RETURN_IF_ERROR(p.require_input(1, kReals));
      if (p.constant(1) == nullptr) return Prepare::defer();
      QQ_TRY(const auto ratio, ir::to_double(*p.constant(1)).context(p.label()));
      if (ratio.size() != 1 || ratio.front() != 0.0) {
        return p.cannot("training_mode is true and ratio not 0, allowed: training_mode false, or a ratio of 0");
      }
    }
  }
  p.alias(0, 0, p.in(0).dims);
  if (!p.wants(1)) return no_kernel();
  const int64_t n = product(p.in(0).dims);
  if (p.opset() >= 10) {
    p.out(1, ElementType::kBool, p.in(0).dims);
    return Kernel([n](const Run& run) {
      std::memset(run.outputs[1], 1, static_cast<size_t>(n));
      return Status();
    });
  }
  QQ_RETURN_IF_ERROR(p.require_input(0, {ElementType::kFloat}));
  p.out(1, ElementType::kFloat, p.in(0).dims);
  return Kernel([n](const Run& run) {
    std::fill_n(run.out<float>(1), n, 1.0f);
    return Status();
  });
}

constexpr LayoutRule kAny = LayoutRule::kFollow;
constexpr OpDef kActivationOps[] = {
    {"Abs", "", 6, kAny, prepare_signed<Unary::kAbs>},
    {"Acos", "", 7, kAny, prepare_unary<Unary::kAcos>},
    {"Acosh", "", 9, kAny, prepare_unary<Unary::kAcosh>},
    {"Asin", "", 7, kAny, prepare_unary<Unary::kAsin>},
    {"Asinh", "", 9, kAny, prepare_unary<Unary::kAsinh>},
    {"Atan", "", 7, kAny, prepare_unary<Unary::kAtan>},
    {"Atanh", "", 9, kAny, prepare_unary<Unary::kAtanh>},
    {"Ceil", "", 6, kAny, prepare_unary<Unary::kCeil>},
    {"Celu", "", 12, kAny, prepare_with_attributes<Unary::kCelu>},
    {"Clip", "", 6, kAny, prepare_with_attributes<Unary::kClip>},
    {"Clip", "", 11, kAny, prepare_clip},
    {"Cos", "", 7, kAny, prepare_unary<Unary::kCos>},
    {"Cosh", "", 9, kAny, prepare_unary<Unary::kCosh>},
    {"Dropout", "", 7, kAny, prepare_dropout},
    {"Elu", "", 6, kAny, prepare_with_attributes<Unary::kElu>},
    {"Erf", "", 9, kAny, prepare_unary<Unary::kErf>},
    {"Exp", "", 6, kAny, prepare_unary<Unary::kExp>},
    {"Floor", "", 6, kAny, prepare_unary<Unary::kFloor>},
    {"Gelu", "", 20, kAny, prepare_gelu},
    {"Gelu", ir::kMicrosoftDomain, 1, kAny, prepare_unary<Unary::kGelu>},
    {"HardSigmoid", "", 6, kAny, prepare_with_attributes<Unary::kHardSigmoid>},
    {"HardSwish", "", 14, kAny, prepare_unary<Unary::kHardSwish>},
    {"Identity", "", 1, kAny, prepare_identity, false, identity_of_value},
    {"IsInf", "", 10, kAny, prepare_is_inf},
    {"IsNaN", "", 9, kAny, prepare_is_nan},
    {"LeakyRelu", "", 6, kAny, prepare_with_attributes<Unary::kLeakyRelu>},
    {"Log", "", 6, kAny, prepare_unary<Unary::kLog>},
    {"Mish", "", 18, kAny, prepare_unary<Unary::kMish>},
    {"Neg", "", 6, kAny, prepare_signed<Unary::kNeg>},
    {"Not", "", 1, kAny, prepare_not},
    {"QuickGelu", ir::kMicrosoftDomain, 1, kAny, prepare_quick_gelu},
    {"Reciprocal", "", 6, kAny, prepare_unary<Unary::kReciprocal>},
    {"Relu", "", 6, kAny, prepare_signed<Unary::kRelu>},
    {"Round", "", 11, kAny, prepare_unary<Unary::kRound>},
    {"Selu", "", 6, kAny, prepare_with_attributes<Unary::kSelu>},
    {"Shrink", "", 9, kAny, prepare_shrink},
    {"Sigmoid", "", 6, kAny, prepare_unary<Unary::kSigmoid>},
    {"Sign", "", 9, kAny, prepare_signed<Unary::kSign>},
    {"Sin", "", 7, kAny, prepare_unary<Unary::kSin>},
    {"Sinh", "", 9, kAny, prepare_unary<Unary::kSinh>},
    {"Softplus", "", 1, kAny, prepare_unary<Unary::kSoftplus>},
    {"Softsign", "", 1, kAny, prepare_unary<Unary::kSoftsign>},
    {"Sqrt", "", 6, kAny, prepare_unary<Unary::kSqrt>},
    {"Swish", "", 24, kAny, prepare_with_attributes<Unary::kSwish>},
    {"Tan", "", 7, kAny, prepare_unary<Unary::kTan>},
    {"Tanh", "", 6, kAny, prepare_unary<Unary::kTanh>},
    {"ThresholdedRelu", "", 10, kAny, prepare_with_attributes<Unary::kThresholdedRelu>},
};

}  // namespace

std::span<const OpDef> activation_ops() { return kActivationOps; }

}  // namespace quarkq::exec

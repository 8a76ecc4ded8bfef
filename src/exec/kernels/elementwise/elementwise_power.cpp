// SPDX-License-Identifier: MIT
// Pow over broadcast inputs of two types.
#include <cmath>

#include "exec/kernels/elementwise/cast_elements.h"
#include "exec/kernels/elementwise/elementwise.h"
#include "exec/kernels/elementwise/elementwise_loops.h"

namespace quarkq::exec {

namespace {

template <typename T>
T power(T base, double exponent) {
  using C = Compute<T>;
  if constexpr (std::is_integral_v<T>) {
    if (exponent < 0 || exponent != std::floor(exponent)) {
      const double y = std::pow(static_cast<double>(base), exponent);
      return std::isfinite(y) && std::fabs(y) < 9e18 ? static_cast<T>(static_cast<int64_t>(y)) : T(0);
    }
    uint64_t result = 1, square = static_cast<std::make_unsigned_t<T>>(base);  // wraps like repeated multiplication
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
struct Power {
  BroadcastPlan plan;
  RowLoop loop;
  ElementCast to_doubles;
  int64_t exponents = 0, outputs = 0;
  bool is_float = false;

  Status operator()(const Run& run) const {
    const auto* exponent = reinterpret_cast<const double*>(run.scratch);
    cast_range(to_doubles, run.inputs[1], run.scratch, 0, exponents);
    if (is_float && exponents == 1 && common_power(run.in<float>(0), run.out<float>(0), outputs, *exponent))
      return Status();
    run_rows(plan, loop, run.inputs[0], run.scratch, run.outputs[0]);
    return Status();
  }
};

}  // namespace

Result<Kernel> prepare_pow(Prepare& p) {
  QQ_RETURN_IF_ERROR(p.require_input(0));
  QQ_RETURN_IF_ERROR(p.require_input(1));
  QQ_TRY(BinaryOperands operands, broadcast_pair(p));
  const ElementType type = p.in(0).type;
  Power kernel{.plan = std::move(operands.plan),
               .loop = {},
               .to_doubles = {},
               .exponents = product(p.in(1).dims),
               .outputs = product(operands.dims),
               .is_float = type == ElementType::kFloat};
  visit_number(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    kernel.loop = row_loop<T, double, T>([](T base, double exponent) { return power(base, exponent); });
  });
  const bool known = is_number(p.in(1).type);
  if (!known || kernel.loop.run == nullptr)
    return p.cannot(known ? "input 0 is " : "input 1 is ", name(p.in(known ? 0 : 1).type), ", allowed: numbers");
  kernel.to_doubles = *make_element_cast(p.in(1).type, ElementType::kDouble);
  p.scratch(static_cast<size_t>(kernel.exponents) * sizeof(double));
  p.out(0, type, std::move(operands.dims));
  return Kernel(std::move(kernel));
}

// How opsets below 7 align the second operand: the shapes are equal, or attribute `broadcast` is 1 and the second shape
// is a part of the first, which begins at `axis` or else ends with it. PRelu has a slope for each channel.

Result<ir::Shape> aligned_right_dims(const Prepare& p) {
  ir::Shape right = p.in(1).dims;
  if (p.opset() >= 7 || !p.node().domain.empty()) return right;
  const int64_t rank = p.in(0).rank(), own = p.in(1).rank();
  if (product(right) == 1 && own <= rank) return right;
  int64_t axis = rank - own;
  if (p.node().op == "PRelu") {
    axis = own == 1 && rank > 1 ? 1 : axis;
  } else if (p.node().int_or("broadcast", 0) == 0) {
    if (right == p.in(0).dims) return right;
    return p.corrupt("inputs are ", shape_text(p.in(0).dims), " and ", shape_text(right), " without broadcast");
  } else if (p.node().find("axis") != nullptr) {
    axis = p.node().int_or("axis", axis);
    if (axis < 0 && axis >= -rank) axis += rank;
  }
  if (axis < 0 || axis > rank - own) {
    return p.corrupt("input 1 of rank ", own, " at axis ", axis, " does not fit rank ", rank);
  }
  right.resize(static_cast<size_t>(rank - axis), 1);
  return right;
}

}  // namespace quarkq::exec

// SPDX-License-Identifier: MIT
// Comparisons, logic and selection over broadcast inputs.
#include "exec/kernels/elementwise/elementwise.h"
#include "exec/kernels/elementwise/elementwise_loops.h"

namespace quarkq::exec {
namespace {

template <typename F>
Result<Kernel> comparison(Prepare& p, const F& f) {
  QQ_TRY(BinaryOperands operands, require_pair(p));
  const BroadcastPlan& plan = operands.plan;
  Kernel kernel;
  visit_number_or_bool(p.in(0).type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    kernel = [plan, f](const Run& run) {
      using C = Compute<T>;
      binary_run(plan, run.in<T>(0), run.in<T>(1), run.out<uint8_t>(0), [&f](T a, T b) { return f(C(a), C(b)); });
      return Status();
    };
  });
  if (kernel == nullptr) return p.cannot("input 0 is ", name(p.in(0).type), ", allowed: numbers and BOOL");
  p.out(0, ElementType::kBool, std::move(operands.dims));
  return kernel;
}

template <typename F>
Result<Kernel> logic(Prepare& p, const F& f) {
  QQ_RETURN_IF_ERROR(p.require_input(0, {ElementType::kBool}));
  QQ_RETURN_IF_ERROR(p.require_input(1, {ElementType::kBool}));
  return comparison(p, [f](auto a, auto b) { return f(a != 0, b != 0); });
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
  return comparison(p, [](auto a, auto b) { return a == b; });
}
Result<Kernel> prepare_greater(Prepare& p) {
  return comparison(p, [](auto a, auto b) { return a > b; });
}
Result<Kernel> prepare_greater_or_equal(Prepare& p) {
  return comparison(p, [](auto a, auto b) { return a >= b; });
}
Result<Kernel> prepare_less(Prepare& p) {
  return comparison(p, [](auto a, auto b) { return a < b; });
}
Result<Kernel> prepare_less_or_equal(Prepare& p) {
  return comparison(p, [](auto a, auto b) { return a <= b; });
}
Result<Kernel> prepare_and(Prepare& p) {
  return logic(p, [](bool a, bool b) { return a && b; });
}
Result<Kernel> prepare_or(Prepare& p) {
  return logic(p, [](bool a, bool b) { return a || b; });
}
Result<Kernel> prepare_xor(Prepare& p) {
  return logic(p, [](bool a, bool b) { return a != b; });
}

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

}  // namespace quarkq::exec

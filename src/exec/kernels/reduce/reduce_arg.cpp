// SPDX-License-Identifier: MIT
// ArgMax and ArgMin.
#include "exec/kernels/reduce/reduce_loops.h"
#include "exec/kernels/reduce/reduce_plan.h"

namespace quarkq::exec {
namespace {

/// Index of the extreme along the one reduced dimension. NaN counts as the extreme, the first one wins.
template <typename T>
int64_t arg_extreme(const T* x, int64_t count, int64_t step, bool largest, bool last) {
  using C = Compute<T>;
  int64_t best = 0;
  C best_value = C(x[0]);
  for (int64_t i = 1; i < count && !(best_value != best_value); ++i) {
    const C value = C(x[i * step]);
    const bool better = largest ? value > best_value : value < best_value;
    if (better || (last && value == best_value) || value != value) {
      best = i;
      best_value = value;
    }
  }
  return best;
}

/// REQUIRES: plan.simple.
void arg_floats(const ReducePlan& plan, Extreme extreme, const float* x, int64_t* y) {
  const AxisView& v = plan.view;
  if (v.inner == 1) {
    for_rows(v.outer, v.count, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        y[i] = QQ_DISPATCH(exec, extreme_of_row)(extreme, x + i * v.count, v.count);
      }
    });
    return;
  }
  for_column_blocks(v, [&](int64_t from, int64_t to, int64_t columns) {
    QQ_DISPATCH(exec, extreme_of_columns)(extreme, {x + from, v.count, v.inner, columns}, y + to);
  });
}

Result<Kernel> prepare_arg(Prepare& p, bool largest) {
  QQ_RETURN_IF_ERROR(p.require_input(0));
  const Spec& x = p.in(0);
  QQ_TRY(ReducePlan plan, plan_reduce(p, {p.node().int_or("axis", 0)}, p.node().int_or("keepdims", 1) != 0));
  if (plan.covered == 0) return p.corrupt("the axis of ", shape_text(x.dims), " is empty");
  const bool last = p.node().int_or("select_last_index", 0) != 0;
  p.out(0, ElementType::kInt64, plan.out_dims, plan.out_layout);
  Kernel kernel;
  visit_number(x.type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    kernel = [plan, largest, last](const Run& run) {
      if constexpr (std::is_same_v<T, float>) {
        if (plan.simple && plan.covered < int64_t{1} << 31) {
          arg_floats(plan, {largest, last}, run.in<float>(0), run.out<int64_t>(0));
          return Status();
        }
      }
      const int64_t step = plan.reduced_strides.front();
      for_rows(plan.outputs, plan.covered, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          run.out<int64_t>(0)[i] = arg_extreme(run.in<T>(0) + plan.base(i), plan.covered, step, largest, last);
        }
      });
      return Status();
    };
  });
  if (kernel == nullptr) return p.cannot("input 0 is ", name(x.type), ", allowed: numbers");
  return kernel;
}

}  // namespace

Result<Kernel> prepare_arg_max(Prepare& p) { return prepare_arg(p, /*largest=*/true); }
Result<Kernel> prepare_arg_min(Prepare& p) { return prepare_arg(p, /*largest=*/false); }

}  // namespace quarkq::exec

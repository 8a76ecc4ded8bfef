// SPDX-License-Identifier: MIT
// Reductions over axes. float32 over adjacent axes runs in vectorized loops; everything else walks the covered elements
// of each output, in double or wrapping integers. Sums are formed in an order that only the shape decides.
#include <limits>

#include "base/index.h"
#include "exec/kernels/reduce/reduce_loops.h"
#include "exec/kernels/reduce/reduce_plan.h"
#include "exec/op_def.h"

namespace quarkq::exec {
namespace {

/// Finds [outer, count, inner] when reduced dimensions are neighbours in memory and outputs keep the memory order.
void find_simple_form(ReducePlan& plan, const ir::Shape& dims, const std::vector<bool>& mask) {
  if (!std::is_sorted(plan.kept_strides.rbegin(), plan.kept_strides.rend())) return;
  int part = 0;  // 0 before, 1 inside, 2 after the reduced dimensions
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == 1) continue;
    if (mask[i] == (part != 1)) ++part;  // a change between kept and reduced
    if (part > 2) return;
    (part == 0 ? plan.view.outer : part == 1 ? plan.view.count : plan.view.inner) *= dims[i];
  }
  plan.simple = plan.covered > 0;
}

/// How many trailing reduced dimensions lie in the input without a gap.
void find_reduced_runs(ReducePlan& plan) {
  plan.run_from = plan.reduced.size();
  while (plan.covered > 0 && plan.run_from > 0 && plan.reduced_strides[plan.run_from - 1] == plan.run_length) {
    plan.run_length *= plan.reduced[--plan.run_from];
  }
}

}  // namespace

Result<ReducePlan> plan_reduce(const Prepare& p, const std::vector<int64_t>& axes, bool keep_dims) {
  const Spec& x = p.in(0);
  const int64_t rank = x.rank();
  const std::vector<int64_t> strides = row_major_strides(x.dims);
  std::vector<bool> mask(as_index(rank));  // by memory axis
  for (const int64_t axis : axes) {
    QQ_TRY(const int64_t stored, p.axis(axis, rank));
    mask[as_index(stored)] = true;
  }
  ReducePlan plan;
  plan.out_layout = keep_dims ? x.layout : Layout::kPlain;
  for (int64_t i = 0; i < rank; ++i) {
    if (mask[as_index(i)]) {
      plan.reduced.push_back(x.dims[as_index(i)]);
      plan.reduced_strides.push_back(strides[as_index(i)]);
    }
    // Outputs lie in memory order when dimensions are kept, else in ONNX order of those that remain.
    const int64_t axis = keep_dims ? i : stored_axis(i, rank, x.layout);
    const bool is_reduced = mask[as_index(axis)];
    if (is_reduced && !keep_dims) continue;
    plan.out_dims.push_back(is_reduced ? 1 : x.dims[as_index(axis)]);
    if (is_reduced || x.dims[as_index(axis)] == 1) continue;
    plan.kept.push_back(x.dims[as_index(axis)]);
    plan.kept_strides.push_back(strides[as_index(axis)]);
  }
  plan.outputs = product(plan.kept);
  plan.covered = product(plan.reduced);
  find_simple_form(plan, x.dims, mask);
  find_reduced_runs(plan);
  return plan;
}

namespace {

/// From the accumulated value to the result.
double finish(Reduce op, double total, int64_t count) {
  switch (op) {
    case Reduce::kMean: return total / static_cast<double>(count);
    case Reduce::kL2: return std::sqrt(total);
    case Reduce::kLogSum: return std::log(total);
    default: return total;
  }
}

/// Joins what two parts of the elements of one output gave.
double merged(Reduce op, double a, double b) {
  switch (op) {
    case Reduce::kMax: return b > a || std::isnan(b) ? b : a;
    case Reduce::kMin: return b < a || std::isnan(b) ? b : a;
    default: return a + b;
  }
}

/// One long row, on several threads. Pieces are joined in order, so their size alone decides the result.
double reduce_long_row(Reduce op, const float* x, int64_t n) {
  constexpr int64_t kPieces = 256;  // at a time
  double total = 0;
  for (int64_t start = 0; start < n; start += kPieces * kPieceElements) {
    double totals[kPieces];
    const int64_t count = std::min(n - start, kPieces * kPieceElements);
    for_elements(count, [&](int64_t begin, int64_t end) {
      totals[begin / kPieceElements] = QQ_DISPATCH(exec, reduce_row)(op, x + start + begin, end - begin);
    });
    for (int64_t i = 0; i * kPieceElements < count; ++i)
      total = start + i == 0 ? totals[0] : merged(op, total, totals[i]);
  }
  return total;
}

void reduce_rows(Reduce op, const ReducePlan& plan, const float* x, float* y) {
  const int64_t n = plan.view.count;
  if (plan.view.outer < 8 && n >= kParallelElements && op != Reduce::kLogSumExp) {
    for (int64_t i = 0; i < plan.view.outer; ++i) {
      y[i] = static_cast<float>(finish(op, reduce_long_row(op, x + i * n, n), n));
    }
    return;
  }
  for_rows(plan.view.outer, n, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      y[i] = static_cast<float>(finish(op, QQ_DISPATCH(exec, reduce_row)(op, x + i * n, n), n));
    }
  });
}

void reduce_column_blocks(Reduce op, const ReducePlan& plan, const float* x, float* y) {
  for_column_blocks(plan.view, [&](int64_t from, int64_t to, int64_t columns) {
    double totals[kReduceColumns];
    QQ_DISPATCH(exec, reduce_columns)(op, {x + from, plan.view.count, plan.view.inner, columns}, totals);
    for (int64_t c = 0; c < columns; ++c) y[to + c] = static_cast<float>(finish(op, totals[c], plan.view.count));
  });
}

/// Outputs that cover contiguous runs of the input: each run as a row.
void reduce_runs(Reduce op, const ReducePlan& plan, const float* x, float* y) {
  for_rows(plan.outputs, plan.covered, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const float* from = x + plan.base(i);
      double total = 0;
      bool first = true;
      plan.each_run([&](int64_t offset, int64_t n) {
        const double part = QQ_DISPATCH(exec, reduce_row)(op, from + offset, n);
        total = first ? part : merged(op, total, part);
        first = false;
      });
      y[i] = static_cast<float>(finish(op, total, plan.covered));
    }
  });
}

/// Accumulates covered elements of one output in double.
template <typename T>
double reduce_real(Reduce op, const ReducePlan& plan, const T* x) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const auto value = [x](int64_t offset) { return static_cast<double>(Compute<T>(x[offset])); };
  double total = op == Reduce::kProd ? 1.0 : op == Reduce::kMax ? -kInfinity : op == Reduce::kMin ? kInfinity : 0.0;
  double largest = 0;
  if (op == Reduce::kLogSumExp) {  // the largest value is taken out so that no exponential overflows
    largest = -kInfinity;
    plan.each([&](int64_t i) { largest = value(i) > largest || std::isnan(value(i)) ? value(i) : largest; });
    if (!std::isfinite(largest)) return largest;
  }
  plan.each([&](int64_t i) {
    const double v = value(i);
    switch (op) {
      case Reduce::kMax: total = v > total || std::isnan(v) ? v : total; break;
      case Reduce::kMin: total = v < total || std::isnan(v) ? v : total; break;
      case Reduce::kProd: total *= v; break;
      case Reduce::kL1: total += std::fabs(v); break;
      case Reduce::kL2:
      case Reduce::kSumSquare: total += v * v; break;
      case Reduce::kLogSumExp: total += std::exp(v - largest); break;
      default: total += v; break;
    }
  });
  return op == Reduce::kLogSumExp ? largest + std::log(total) : finish(op, total, plan.covered);
}

/// The same for integers: sums and products wrap, a mean is truncated, roots and logarithms go through double.
template <typename T>
T reduce_integer(Reduce op, const ReducePlan& plan, const T* x) {
  if (op == Reduce::kL2 || op == Reduce::kLogSum || op == Reduce::kLogSumExp) {
    const double y = reduce_real(op, plan, x);
    return std::fabs(y) < 9e18 ? static_cast<T>(static_cast<int64_t>(y)) : T(0);
  }
  uint64_t sum = op == Reduce::kProd ? 1 : 0;
  T extreme = op == Reduce::kMax ? std::numeric_limits<T>::lowest() : std::numeric_limits<T>::max();
  plan.each([&](int64_t i) {
    const auto v = static_cast<uint64_t>(x[i]);
    switch (op) {
      case Reduce::kMax: extreme = std::max(extreme, x[i]); break;
      case Reduce::kMin: extreme = std::min(extreme, x[i]); break;
      case Reduce::kProd: sum *= v; break;
      case Reduce::kSumSquare: sum += v * v; break;
      case Reduce::kL1: sum += x[i] < T(0) ? 0 - v : v; break;
      default: sum += v; break;
    }
  });
  if (op == Reduce::kMax || op == Reduce::kMin) return extreme;
  if (op != Reduce::kMean) return static_cast<T>(sum);
  return plan.covered == 0 ? T(0) : static_cast<T>(static_cast<int64_t>(sum) / plan.covered);
}

template <typename T>
void reduce_all(Reduce op, const ReducePlan& plan, const T* x, T* y) {
  if constexpr (std::is_same_v<T, float>) {
    if (plan.simple && op != Reduce::kProd) {
      return plan.view.inner == 1 ? reduce_rows(op, plan, x, y) : reduce_column_blocks(op, plan, x, y);
    }
    if (plan.run_length >= 8 && op != Reduce::kProd && op != Reduce::kLogSumExp) return reduce_runs(op, plan, x, y);
  }
  for_rows(plan.outputs, plan.covered, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const T* from = x + plan.base(i);
      if constexpr (kIsReal<T>) {
        y[i] = static_cast<T>(static_cast<Compute<T>>(reduce_real(op, plan, from)));
      } else {
        y[i] = reduce_integer(op, plan, from);
      }
    }
  });
}

/// First opset at which `axes` is an input.
constexpr int64_t axes_input_since(Reduce op) { return op == Reduce::kSum ? 13 : 18; }

/// Whether a single element reduces to itself; the others have steps besides the reduction, as the logarithm of a sum.
constexpr bool keeps_single_elements(Reduce op) {
  return op != Reduce::kL1 && op != Reduce::kL2 && op != Reduce::kSumSquare && op != Reduce::kLogSum;
}

template <Reduce kOp>
Result<Kernel> prepare_reduce(Prepare& p) {
  QQ_RETURN_IF_ERROR(p.require_input(0));
  const Spec& x = p.in(0);
  QQ_TRY(IntList axes, read_ints(p, "axes", 1, axes_input_since(kOp)));
  if (!axes.known) return Prepare::defer();
  const bool reduces_none =
      axes.values.empty() && p.opset() >= axes_input_since(kOp) && p.node().int_or("noop_with_empty_axes", 0) != 0;
  if (reduces_none && keeps_single_elements(kOp)) {
    p.alias(0, 0, x.dims);
    return no_kernel();
  }
  if (axes.values.empty() && !reduces_none) {
    for (int64_t i = 0; i < x.rank(); ++i) axes.values.push_back(i);
  }
  QQ_TRY(ReducePlan plan, plan_reduce(p, axes.values, p.node().int_or("keepdims", 1) != 0));
  p.out(0, x.type, plan.out_dims, plan.out_layout);
  Kernel kernel;
  visit_number_or_bool(x.type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    kernel = [plan](const Run& run) {
      reduce_all(kOp, plan, run.in<T>(0), run.out<T>(0));
      return Status();
    };
  });
  if (kernel == nullptr) return p.cannot("input 0 is ", name(x.type), ", allowed: numbers");
  return kernel;
}

using enum LayoutRule;
constexpr OpDef kReduceOps[] = {
    {"ArgMax", "", 1, kFollow, prepare_arg_max},
    {"ArgMin", "", 1, kFollow, prepare_arg_min},
    {"ReduceL1", "", 1, kFollow, prepare_reduce<Reduce::kL1>},
    {"ReduceL2", "", 1, kFollow, prepare_reduce<Reduce::kL2>},
    {"ReduceLogSum", "", 1, kFollow, prepare_reduce<Reduce::kLogSum>},
    {"ReduceLogSumExp", "", 1, kFollow, prepare_reduce<Reduce::kLogSumExp>},
    {"ReduceMax", "", 1, kFollow, prepare_reduce<Reduce::kMax>},
    {"ReduceMean", "", 1, kFollow, prepare_reduce<Reduce::kMean>},
    {"ReduceMin", "", 1, kFollow, prepare_reduce<Reduce::kMin>},
    {"ReduceProd", "", 1, kFollow, prepare_reduce<Reduce::kProd>},
    {"ReduceSum", "", 1, kFollow, prepare_reduce<Reduce::kSum>},
    {"ReduceSumSquare", "", 1, kFollow, prepare_reduce<Reduce::kSumSquare>},
};

}  // namespace

std::span<const OpDef> reduce_ops() { return kReduceOps; }

}  // namespace quarkq::exec

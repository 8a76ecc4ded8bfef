// SPDX-License-Identifier: MIT
// Normalizations of rows beside LayerNormalization: RMSNormalization, com.microsoft::SkipLayerNormalization, Hardmax.
#include "exec/kernels/norm/norm.h"

namespace quarkq::exec {

Result<Kernel> prepare_rms_norm(Prepare& p) {
  QQ_RETURN_IF_ERROR(require_real(p, 0));
  QQ_RETURN_IF_ERROR(require_real(p, 1));
  const Spec& x = p.in(0);
  QQ_TRY(const int64_t axis, p.axis(p.node().int_or("axis", -1), x.rank()));
  const int64_t rows = product(x.dims, 0, axis), n = product(x.dims, axis, x.rank());
  const int64_t scales = product(p.in(1).dims);
  if (scales != n && scales != 1) {
    return p.cannot("scale is ", shape_text(p.in(1).dims), ", allowed: one element, or one for each of ", n,
                    " normalized");
  }
  const float epsilon = p.node().float_or("epsilon", 1e-5f);
  p.out(0, x.type, x.dims);
  if (product(x.dims) == 0) return no_kernel();
  const auto own = static_cast<size_t>(scales == n ? 0 : n) * sizeof(float);
  return bridged(
      p,
      [rows, n, epsilon, own](const Run& run) {
        const float* scale = run.in<float>(1);
        if (own != 0) {
          auto* repeated = reinterpret_cast<float*>(run.scratch);
          std::fill_n(repeated, n, *scale);
          scale = repeated;
        }
        for_rows(rows, 4 * n, [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) {
            QQ_DISPATCH(exec, rms_norm_row)
            (run.in<float>(0) + i * n, run.out<float>(0) + i * n, n, RowNorm{scale, nullptr, epsilon});
          }
        });
        return Status();
      },
      own);
}

/// Inputs: input, skip, gamma, beta (optional), bias (optional). Outputs: result, mean, inverse deviation (both for
/// training only, refused), and the sum that was normalized.
Result<Kernel> prepare_skip_layer_norm(Prepare& p) {
  for (size_t i = 0; i < 3; ++i) QQ_RETURN_IF_ERROR(require_real(p, i));
  const Spec& x = p.in(0);
  if (x.rank() < 2) return p.corrupt("input 0 has rank ", x.rank(), ", allowed: 2 and 3");
  const int64_t n = x.dims.back(), rows = product(x.dims, 0, x.rank() - 1);
  for (size_t i = 2; i < 5; ++i) {
    if (p.has(i)) QQ_RETURN_IF_ERROR(require_vector(p, i, n));
  }
  const ir::Shape& skip = p.in(1).dims;
  const int64_t skipped = product(skip);  // may be shared by all batches
  const bool fits = skip.size() <= x.dims.size() && !skip.empty() && skip.back() == n &&
                    (skipped == rows * n || (x.rank() == 3 && skipped == x.dims[1] * n));
  if (!fits) return p.corrupt("skip ", shape_text(skip), " does not fit the input ", shape_text(x.dims));
  if (p.wants(1) || p.wants(2)) return p.cannot("mean and deviation are requested, which only training supports");
  const float epsilon = p.node().float_or("epsilon", 1e-12f);
  p.out(0, x.type, x.dims);
  p.out(3, x.type, x.dims);
  if (product(x.dims) == 0) return no_kernel();
  return bridged(p, [=, has_beta = p.has(3), has_bias = p.has(4)](const Run& run) {
    const RowNorm norm{run.in<float>(2), has_beta ? run.in<float>(3) : nullptr, epsilon};
    for_rows(rows, 6 * n, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const float* a = run.in<float>(0) + i * n;
        const float* b = run.in<float>(1) + i * n % skipped;
        float* y = run.out<float>(0) + i * n;
        for (int64_t k = 0; k < n; ++k) y[k] = a[k] + b[k];
        for (int64_t k = 0; has_bias && k < n; ++k) y[k] += run.in<float>(4)[k];
        if (wants_output(run, 3)) std::copy_n(y, n, run.out<float>(3) + i * n);
        QQ_DISPATCH(exec, layer_norm_row)(y, y, n, norm);
      }
    });
    return Status();
  });
}

namespace {

/// 1 at the first of the largest elements, 0 elsewhere.
template <typename T>
void hardmax(const AxisView& v, const T* x, T* y) {
  std::fill_n(y, v.outer * v.count * v.inner, static_cast<T>(Compute<T>(0)));
  for (int64_t row = 0; v.count > 0 && row < v.outer * v.inner; ++row) {
    const int64_t base = row / v.inner * v.count * v.inner + row % v.inner;
    int64_t best = base;
    for (int64_t i = 1; i < v.count; ++i) {
      const int64_t at = base + i * v.inner;
      if (Compute<T>(x[at]) > Compute<T>(x[best])) best = at;
    }
    y[best] = static_cast<T>(Compute<T>(1));
  }
}

}  // namespace

/// Before opset 13: over all dimensions from `axis` on.
Result<Kernel> prepare_hardmax(Prepare& p) {
  QQ_RETURN_IF_ERROR(require_real(p, 0));
  const Spec& x = p.in(0);
  const bool flat = p.opset() < 13;
  QQ_TRY(const int64_t axis, p.axis(p.node().int_or("axis", flat ? 1 : -1), x.rank()));
  const AxisView view =
      flat ? AxisView{product(x.dims, 0, axis), product(x.dims, axis, x.rank()), 1} : axis_view(x.dims, axis);
  p.out(0, x.type, x.dims);
  Kernel kernel;
  visit_real(x.type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    kernel = [view](const Run& run) {
      hardmax(view, run.in<T>(0), run.out<T>(0));
      return Status();
    };
  });
  return kernel;
}

}  // namespace quarkq::exec

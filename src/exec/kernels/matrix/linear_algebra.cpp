// SPDX-License-Identifier: MIT
// Linear algebra beyond products: Det.
#include "exec/kernels/shared/support.h"
#include "exec/op_def.h"

namespace quarkq::exec {
namespace {

/// Determinant of the row-major n x n matrix, by elimination with the largest pivot of each column. Destroys it.
double determinant(std::vector<double>& matrix, int64_t n) {
  double result = 1;
  const auto row = [&](int64_t i) { return matrix.begin() + i * n; };
  for (int64_t c = 0; c < n; ++c) {
    int64_t pivot = c;
    for (int64_t r = c + 1; r < n; ++r) {
      if (std::fabs(row(r)[c]) > std::fabs(row(pivot)[c])) pivot = r;
    }
    if (row(pivot)[c] == 0.0) return 0.0;
    if (pivot != c) {
      std::swap_ranges(row(c), row(c) + n, row(pivot));
      result = -result;
    }
    result *= row(c)[c];
    for (int64_t r = c + 1; r < n; ++r) {
      const double factor = row(r)[c] / row(c)[c];
      for (int64_t k = c + 1; k < n; ++k) row(r)[k] -= factor * row(c)[k];
    }
  }
  return result;
}

Result<Kernel> prepare_det(Prepare& p) {
  QQ_RETURN_IF_ERROR(p.require_input(0));
  const Spec& x = p.in(0);
  if (x.rank() < 2 || x.dims.back() != x.dims[x.dims.size() - 2]) {
    return p.corrupt("input 0 is ", shape_text(x.dims), ", must contain square matrices");
  }
  const int64_t n = x.dims.back(), matrices = product(x.dims, 0, x.rank() - 2);
  Kernel kernel;
  visit_real(x.type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    kernel = [n, matrices](const Run& run) {
      for_rows(matrices, n * n * std::max<int64_t>(n / 3, 1), [&](int64_t begin, int64_t end) {
        std::vector<double> matrix(static_cast<size_t>(n * n));
        for (int64_t i = begin; i < end; ++i) {
          const T* from = run.in<T>(0) + i * n * n;
          for (int64_t k = 0; k < n * n; ++k) matrix[static_cast<size_t>(k)] = static_cast<double>(from[k]);
          run.out<T>(0)[i] = static_cast<T>(static_cast<Compute<T>>(determinant(matrix, n)));
        }
      });
      return Status();
    };
  });
  if (kernel == nullptr) return p.cannot("input 0 is ", name(x.type), ", allowed: FLOAT, FLOAT16, BFLOAT16, DOUBLE");
  p.out(0, x.type, ir::Shape(x.dims.begin(), x.dims.end() - 2));
  return kernel;
}

}  // namespace

std::span<const OpDef> linear_algebra_ops() {
  static constexpr OpDef kOps[] = {{"Det", "", 11, LayoutRule::kPlain, prepare_det}};
  return kOps;
}

}  // namespace quarkq::exec

// SPDX-License-Identifier: MIT
// GPTQ (ref:tuning#gptq): rounds a weight row by row, and lets the rows not yet rounded make up for each error on
// typical inputs. Pure functions on matrices.
#pragma once

#include <cstdint>
#include <vector>

#include "base/error.h"
#include "config/gptq_settings.h"

namespace quarkq::pass {

struct GptqOptions : config::GptqSettings {
  int bits = 8;
  bool propagate = true;  ///< false: the reference's result, which is plain rounding
};

/// A matrix, row-major.
template <typename T>
struct Dense {
  int64_t rows = 0, columns = 0;
  std::vector<T> data;

  Dense() = default;
  Dense(int64_t r, int64_t c) : rows(r), columns(c), data(static_cast<size_t>(r * c)) {}
  T& operator()(int64_t row, int64_t column) { return data[static_cast<size_t>(row * columns + column)]; }
  const T& operator()(int64_t row, int64_t column) const { return data[static_cast<size_t>(row * columns + column)]; }
};

/// The sum of outer products of inputs seen so far, as GPTQ weighs it.
class Hessian {
 public:
  explicit Hessian(int64_t depth) : matrix_(depth, depth) {}
  /// Adds inputs [rows, depth], which come from `batch` samples.
  void add(const float* inputs, int64_t rows, int64_t batch);
  const Dense<double>& matrix() const { return matrix_; }

 private:
  Dense<double> matrix_;
  double samples_ = 0;
};

struct GptqResult {
  Dense<float> values;        ///< [depth, columns]: rounded
  Dense<int> codes;           ///< the same as integers
  Dense<double> scale, zero;  ///< [groups, columns]
};

/// Rounds `weight` [depth, columns]. Fails with kBadData when the Hessian has no Cholesky factor (NaN inputs).
Result<GptqResult> gptq(const Dense<float>& weight, const Dense<double>& hessian, const GptqOptions& options);

}  // namespace quarkq::pass

// SPDX-License-Identifier: MIT
// Products of batches of matrices: C[i] = A[i] * B[i], row-major. Large float32 matrices go to oneDNN as 1x1
// convolutions (kernels/matrix/matmul.cpp says why), small ones and other types to plain loops.
#pragma once

#include <cstdint>
#include <memory>

#include "exec/backend_onednn.h"
#include "exec/kernels/shared/support.h"

namespace quarkq::exec {

struct BatchProduct {
  int64_t batch = 1, m = 0, k = 0, n = 0;
  std::shared_ptr<Convolution> convolution;  ///< null: plain loops

  /// Chooses how float32 matrices are multiplied.
  Status prepare_float();
  /// Bytes of scratch that run() of floats needs.
  size_t scratch_bytes() const { return convolution == nullptr ? 0 : convolution->scratch_bytes(); }
  void run(const float* a, const float* b, float* c, std::byte* scratch) const;
  /// Integers wrap. Sums run over k in order.
  template <typename T>
  void run_plain(const T* a, const T* b, T* c) const;
};

template <typename T>
void BatchProduct::run_plain(const T* a, const T* b, T* c) const {
  for_rows(batch * m, k * n, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      T* to = c + row * n;
      std::fill_n(to, n, T(0));
      for (int64_t i = 0; i < k; ++i) {
        const T factor = a[row * k + i];
        const T* from = b + (row / m * k + i) * n;
        for (int64_t j = 0; j < n; ++j) {
          if constexpr (std::is_integral_v<T>) {
            to[j] = static_cast<T>(static_cast<uint64_t>(to[j]) +
                                   static_cast<uint64_t>(factor) * static_cast<uint64_t>(from[j]));
          } else {
            to[j] += factor * from[j];
          }
        }
      }
    }
  });
}

}  // namespace quarkq::exec

// SPDX-License-Identifier: MIT
#include "exec/kernels/matrix/batch_product.h"

namespace quarkq::exec {

Status BatchProduct::prepare_float() {
  constexpr double kSmall = 16384;  // multiplications of one matrix that cost less than a call of oneDNN
  if (static_cast<double>(m) * static_cast<double>(k) * static_cast<double>(n) < kSmall) return Status();
  QQ_TRY(convolution, Convolution::make(product_problem(m, k, n, /*stride_k=*/n, /*stride_n=*/1), nullptr));
  return Status();
}

void BatchProduct::run(const float* a, const float* b, float* c, std::byte* scratch) const {
  if (convolution == nullptr) return run_plain(a, b, c);
  for (int64_t i = 0; i < batch; ++i) {
    convolution->run({a + i * m * k, b + i * k * n, nullptr, {}, c + i * m * n, scratch});
  }
}

}  // namespace quarkq::exec

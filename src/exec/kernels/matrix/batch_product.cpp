// SPDX-License-Identifier: MIT
#include "exec/kernels/matrix/batch_product.h"

namespace quarkq::exec {

Status BatchProduct::prepare_float() {
  constexpr double kSmall = 16384;  // multiplications of one matrix that cost less than a call of oneDNN
  if (static_cast<double>(m) * static_cast<double>(k) * static_cast<double>(n) < kSmall) return Status();
  ConvProblem problem;
  problem.source = {1, k, m, 1};
  problem.weights = {n, k, 1, 1};
  problem.result = {1, n, m, 1};
  problem.strides = problem.dilations = {1, 1};
  problem.pads_begin = problem.pads_end = {0, 0};
  problem.weight_strides = {1, n, 1, 1};
  QQ_TRY(convolution, Convolution::make(problem, nullptr));
  return Status();
}

void BatchProduct::run(const float* a, const float* b, float* c, std::byte* scratch) const {
  if (convolution == nullptr) return run_plain(a, b, c);
  for (int64_t i = 0; i < batch; ++i) {
    convolution->run(a + i * m * k, b + i * k * n, nullptr, {}, c + i * m * n, scratch);
  }
}

}  // namespace quarkq::exec

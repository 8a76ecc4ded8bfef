// SPDX-License-Identifier: MIT
// DynamicQuantizeLinear: UINT8 with limits from the data.
#include "exec/kernels/quantized/quant_arrays.h"
#include "exec/kernels/quantized/quant_dequant.h"
#include "exec/kernels/reduce/reduce_loops.h"

namespace quarkq::exec {

/// Outputs y, scale, zero point.
Result<Kernel> prepare_dynamic_quantize(Prepare& p) {
  QQ_RETURN_IF_ERROR(p.require_input(0, {ElementType::kFloat}));
  const int64_t n = product(p.in(0).dims);
  p.out(0, ElementType::kUInt8, p.in(0).dims);
  p.out(1, ElementType::kFloat, {}, Layout::kPlain);
  p.out(2, ElementType::kUInt8, {}, Layout::kPlain);
  return Kernel([n](const Run& run) {
    const float* x = run.in<float>(0);
    double low = 0, high = 0;
    if (n > 0) low = std::min(0.0, QQ_DISPATCH(exec, reduce_row)(Reduce::kMin, x, n));
    if (n > 0) high = std::max(0.0, QQ_DISPATCH(exec, reduce_row)(Reduce::kMax, x, n));
    const float range = (static_cast<float>(high) - static_cast<float>(low)) / 255.0f;
    LinearParams params{range == 0.0f ? 1.0f : range, 0, {0, 255}, Overflow::kSaturate};
    params.zero_point = numeric::quantize(-static_cast<float>(low), params);
    if (wants_output(run, 1)) *run.out<float>(1) = params.scale;
    if (wants_output(run, 2)) *run.out<uint8_t>(2) = static_cast<uint8_t>(params.zero_point);
    for_elements(wants_output(run, 0) ? n : 0, [&](int64_t begin, int64_t end) {
      quantize_array(x + begin, run.out<uint8_t>(0) + begin, end - begin, params);
    });
    return Status();
  });
}

}  // namespace quarkq::exec

// SPDX-License-Identifier: MIT
// com.microsoft QLinearAdd and QLinearMul: elementwise on bytes, with broadcasting. Inputs: A, scale, zero point, the
// same for B, scale and zero point of the result.
#include <limits>

#include "exec/kernels/elementwise/elementwise.h"
#include "exec/kernels/quantized/quantized.h"
#include "exec/kernels/quantized/quantized_product.h"

namespace quarkq::exec {
namespace {

/// Scales and zero points of both operands and of the result.
struct ByteOperands {
  QuantInput scale_a, zero_a, scale_b, zero_b, scale_c, zero_c;
};

struct ByteParams {
  float scale_a, scale_b, scale_c;
  int32_t zero_a, zero_b, zero_c;
};

ByteParams read_params(const ByteOperands& o, const Run& run) {
  return {o.scale_a.floats(run)[0],  o.scale_b.floats(run)[0],  o.scale_c.floats(run)[0],
          o.zero_a.integers(run)[0], o.zero_b.integers(run)[0], o.zero_c.integers(run)[0]};
}

template <typename Q>
Q saturate_byte(float x) {
  constexpr auto kLow = static_cast<float>(std::numeric_limits<Q>::lowest());
  constexpr auto kHigh = static_cast<float>(std::numeric_limits<Q>::max());
  const float rounded = std::rint(x);
  const float low = rounded > kLow ? rounded : kLow;  // NaN -> low
  return static_cast<Q>(low < kHigh ? low : kHigh);
}

/// c = (a - zero_a) * scale_a / scale_c + (b - zero_b) * scale_b / scale_c + zero_c, constants first.
template <typename Q>
void add_bytes(const BroadcastPlan& plan, const ByteParams& p, const Run& run) {
  const float ratio_a = p.scale_a / p.scale_c, ratio_b = p.scale_b / p.scale_c;
  const float fixed =
      static_cast<float>(p.zero_c) - (ratio_a * static_cast<float>(p.zero_a) + ratio_b * static_cast<float>(p.zero_b));
  binary_run(plan, run.in<Q>(0), run.in<Q>(3), run.out<Q>(0), [=](Q a, Q b) {
    return saturate_byte<Q>(static_cast<float>(a) * ratio_a + (static_cast<float>(b) * ratio_b + fixed));
  });
}

/// c = (a - zero_a) * (b - zero_b) * (scale_a * scale_b / scale_c) + zero_c.
template <typename Q>
void multiply_bytes(const BroadcastPlan& plan, const ByteParams& p, const Run& run) {
  const float scale = p.scale_a * p.scale_b / p.scale_c;
  const auto zero = static_cast<float>(p.zero_c);
  binary_run(plan, run.in<Q>(0), run.in<Q>(3), run.out<Q>(0), [=](Q a, Q b) {
    const int32_t product = (a - p.zero_a) * (b - p.zero_b);
    return saturate_byte<Q>(static_cast<float>(product) * scale + zero);
  });
}

Result<ByteOperands> read_operands(const Prepare& p) {
  QQ_RETURN_IF_ERROR(require_byte(p, 0));
  const ElementType type = p.in(0).type;
  QQ_RETURN_IF_ERROR(p.require_input(3, {type}));
  ByteOperands operands;
  QQ_TRY(operands.scale_a, read_scale(p, 1));
  QQ_TRY(operands.zero_a, read_zero_point(p, 2, type));
  QQ_TRY(operands.scale_b, read_scale(p, 4));
  QQ_TRY(operands.zero_b, read_zero_point(p, 5, type));
  QQ_TRY(operands.scale_c, read_scale(p, 6));
  QQ_TRY(operands.zero_c, read_zero_point(p, 7, type));
  return operands;
}

using ByteLoop = void (*)(const BroadcastPlan& plan, const ByteParams& params, const Run& run);

Result<Kernel> prepare_bytes(Prepare& p, ByteLoop unsigned_loop, ByteLoop signed_loop) {
  QQ_TRY(const ByteOperands operands, read_operands(p));
  const ir::Shape &a = p.in(0).dims, &b = p.in(3).dims;
  QQ_TRY(const ir::Shape dims, ir::broadcast(a, b).context(p.label()));
  QQ_RETURN_IF_ERROR(check_dims(p, dims));
  p.out(0, p.in(0).type, dims);
  const ByteLoop loop = p.in(0).type == ElementType::kInt8 ? signed_loop : unsigned_loop;
  return Kernel([plan = plan_broadcast(dims, {a, b}), operands, loop](const Run& run) {
    loop(plan, read_params(operands, run), run);
    return Status();
  });
}

}  // namespace

Result<Kernel> prepare_qlinear_add(Prepare& p) { return prepare_bytes(p, add_bytes<uint8_t>, add_bytes<int8_t>); }
Result<Kernel> prepare_qlinear_mul(Prepare& p) {
  return prepare_bytes(p, multiply_bytes<uint8_t>, multiply_bytes<int8_t>);
}

}  // namespace quarkq::exec

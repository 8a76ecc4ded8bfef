// SPDX-License-Identifier: MIT
// The list of operators on quantized values: integer products and convolutions, and the quantizing operators of
// com.amd.quark (ref:operators) that are no QuantizeLinear. QuantizeLinear and its kin are the quant_dequant family.
#include "exec/kernels/quantized/quantized.h"

#include <limits>

#include "exec/kernels/elementwise/elementwise.h"
#include "exec/kernels/quantized/quant_dequant.h"
#include "exec/kernels/quantized/quant_operands.h"
#include "exec/kernels/quantized/quantized_product.h"
#include "exec/kernels/reduce/reduce_loops.h"
#include "exec/op_def.h"
#include "ir/quantizing_ops.h"

namespace quarkq::exec {

namespace {

using enum LayoutRule;
constexpr OpDef kQuantizedOps[] = {
    {"BFPFixNeuron", ir::kVitisDomain, 1, kFollow, prepare_bfp},
    {"BFPQuantizeDequantize", ir::kQuarkDomain, 1, kFollow, prepare_bfp},
    {"ConvInteger", "", 10, LayoutRule::kImage, prepare_conv_integer},
    {"ExtendedInstanceNormalization", ir::kQuarkDomain, 1, kPlain, prepare_extended_instance_norm},
    {"MXFixNeuron", ir::kVitisDomain, 1, kFollow, prepare_mx},
    {"MXQuantizeDequantize", ir::kQuarkDomain, 1, kFollow, prepare_mx},
    {"MatMulInteger", "", 10, kPlain, prepare_matmul_integer},
    {"MatMulNBits", ir::kMicrosoftDomain, 1, kPlain, prepare_matmul_nbits},
    {"QGemm", ir::kMicrosoftDomain, 1, kPlain, prepare_qgemm},
    {"QLinearAdd", ir::kMicrosoftDomain, 1, LayoutRule::kBroadcast, prepare_qlinear_add},
    {"QLinearConv", "", 10, LayoutRule::kImage, prepare_qlinear_conv},
    {"QLinearMatMul", "", 10, kPlain, prepare_qlinear_matmul},
    {"QLinearMul", ir::kMicrosoftDomain, 1, LayoutRule::kBroadcast, prepare_qlinear_mul},
    {"VitisInstanceNormalization", ir::kVitisDomain, 1, kPlain, prepare_extended_instance_norm},
};

}  // namespace

std::span<const OpDef> quantized_ops() { return kQuantizedOps; }

// com.microsoft QLinearAdd and QLinearMul: elementwise on bytes, with broadcasting. Inputs: A, scale, zero point, the
// same for B, scale and zero point of the result.

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

// DynamicQuantizeLinear: UINT8 with limits from the data.

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

// SPDX-License-Identifier: MIT
#include "exec/kernels/quantized/fake_quantize.h"

#include <algorithm>
#include <array>

#include "exec/kernels/quantized/quant_dequant.h"
#include "exec/kernels/shared/support.h"
#include "ir/qdq_nodes.h"
#include "numeric/linear_quant.h"
#include "plan/lowering/lower.h"

namespace quarkq::exec {

std::optional<PairParams> read_pair_params(const ir::Tensor* scale, const ir::Tensor* zero_point) {
  if (scale == nullptr || zero_point == nullptr || scale->type() != ElementType::kFloat) return std::nullopt;
  if (scale->size() != 1 || zero_point->size() != 1 || !is_integer(zero_point->type())) return std::nullopt;
  const int width = bits(zero_point->type());
  if (width != 8 && width != 16) return std::nullopt;
  const Result<std::vector<int64_t>> zero = ir::to_int64(*zero_point);
  if (!zero.ok()) return std::nullopt;
  return PairParams{scale->data<float>()[0], static_cast<int32_t>(zero.value()[0]), zero_point->type()};
}

Kernel fake_quantize_kernel(const PairParams& params, bool saturate, int64_t count) {
  const numeric::IntegerRange limits = numeric::integer_range(params.type, numeric::RangeKind::kFull);
  const numeric::LinearParams linear{params.scale, params.zero_point, limits,
                                     saturate ? numeric::Overflow::kSaturate : numeric::Overflow::kLowest};
  return [=](const Run& run) {
    for_elements(count, [&](int64_t begin, int64_t end) {
      QQ_DISPATCH(numeric, fake_quantize)
      (run.in<float>(0) + begin, run.out<float>(0) + begin, end - begin, linear);
    });
    return Status();
  };
}

namespace {

/// The node's operator with the parameters that both halves have.
ir::Node half_of(const ir::Node& node, const char* op, const char* domain) {
  ir::Node half = node;
  half.op = node.string_or(op, "");
  half.domain = node.string_or(domain, "");
  return half;
}

/// Any other types: the kernels of both operators one after the other, the codes in scratch memory.
Result<Kernel> prepare_both(Prepare& p) {
  const ir::Node q_node = half_of(p.node(), plan::kQuantizeOp, plan::kQuantizeDomain);
  const ir::Node dq_node = half_of(p.node(), plan::kDequantizeOp, plan::kDequantizeDomain);
  Prepare quantize(q_node, p.label(), p.opset(), {p.in(0), p.in(1), p.in(2)}, {true, true, true});
  quantize.set_layout(p.layout());
  QQ_TRY(Kernel to_codes, prepare_quantize(quantize));
  const Spec codes = quantize.output(0).spec;
  Prepare dequantize(dq_node, p.label(), p.opset(), {codes, p.in(1), p.in(2)}, {true, true, true});
  dequantize.set_layout(p.layout());
  QQ_TRY(Kernel to_values, prepare_dequantize(dequantize));
  const Spec& made = dequantize.output(0).spec;
  p.out(0, made.type, made.dims, made.layout);
  const auto code_bytes = static_cast<size_t>(storage_bytes(codes.type, ir::checked_count(codes.dims)) + 63) / 64 * 64;
  p.scratch(code_bytes + std::max(quantize.scratch_bytes(), dequantize.scratch_bytes()));
  return Kernel([=](const Run& run) -> Status {
    std::byte* const stored = run.scratch;
    std::byte* const scratch = run.scratch + code_bytes;
    const std::array<std::byte*, 1> between = {stored};
    QQ_RETURN_IF_ERROR(to_codes({run.inputs, between, scratch}));
    const std::array<const std::byte*, 3> inputs = {stored, run.inputs[1], run.inputs[2]};
    return to_values({inputs, run.outputs, scratch});
  });
}

}  // namespace

Result<Kernel> prepare_fake_quantize(Prepare& p) {
  for (const size_t i : {size_t{0}, size_t{1}, size_t{2}}) QQ_RETURN_IF_ERROR(p.require_input(i));
  const std::optional<PairParams> params = read_pair_params(p.constant(1), p.constant(2));
  if (!params || p.in(0).type != ElementType::kFloat) return prepare_both(p);
  p.out(0, ElementType::kFloat, p.in(0).dims);
  p.in_place(0, 0);
  const bool saturate = p.node().string_or(plan::kQuantizeDomain, "") != ir::kQuarkDomain;
  return fake_quantize_kernel(*params, saturate, ir::checked_count(p.in(0).dims));
}

}  // namespace quarkq::exec

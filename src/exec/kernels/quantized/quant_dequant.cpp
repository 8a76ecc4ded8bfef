// SPDX-License-Identifier: MIT
// QuantizeLinear and DequantizeLinear of ai.onnx (opsets 10 to 28) and com.microsoft, and the Extended forms of
// com.amd.quark (ref:operators#quantize, ref:operators#dequantize). Integers go through numeric/linear_quant.h;
// "quantized" floats are float arithmetic whose result is rounded when it is stored. Other types are converted around
// the kernels (quant_operands.h).
#include "exec/kernels/quantized/quant_dequant.h"

#include <algorithm>
#include <array>

#include "exec/kernels/quantized/quant_operands.h"
#include "exec/kernels/shared/support.h"
#include "exec/op_def.h"
#include "ir/quantizing_ops.h"
#include "numeric/linear_quant.h"
#include "plan/lowering/lower.h"

namespace quarkq::exec {

namespace {

bool is_extended(const Prepare& p) {
  return p.node().domain == ir::kQuarkDomain || p.node().domain == ir::kVitisDomain;
}

// ---- integers -------------------------------------------------------------------------------------------------------

constexpr int64_t kShortRun = 16;  ///< runs below this go element by element

/// Zero points of a run; an absent input means zeros.
template <typename Q>
const Q* zero_points(const Run& run, const std::vector<Q>& zeros) {
  return has_input(run, 2) ? run.in<Q>(2) : zeros.data();
}

template <typename Q>
Kernel quantize_kernel(const ParamView& view, numeric::IntegerRange range, Overflow overflow) {
  return [=, zeros = std::vector<Q>(static_cast<size_t>(view.parameters))](const Run& run) {
    const Q* zero_point = zero_points(run, zeros);
    for_param_runs(view, [&](const ParamRun& r) {
      const float* x = run.in<float>(0) + r.first;
      const float* scale = run.in<float>(1) + r.parameter;
      const Q* zero = zero_point + r.parameter;
      Q* y = run.out<Q>(0) + r.first;
      if (r.each) return quantize_each(x, y, r.count, ElementParams<Q>{scale, zero, range, overflow});
      const LinearParams params{*scale, static_cast<int64_t>(*zero), range, overflow};
      if (r.count >= kShortRun) return quantize_array(x, y, r.count, params);
      for (int64_t i = 0; i < r.count; ++i) y[i] = static_cast<Q>(numeric::quantize(x[i], params));
    });
    return Status();
  };
}

template <typename Q>
Kernel dequantize_kernel(const ParamView& view) {
  return [=, zeros = std::vector<Q>(static_cast<size_t>(view.parameters))](const Run& run) {
    const Q* zero_point = zero_points(run, zeros);
    for_param_runs(view, [&](const ParamRun& r) {
      const Q* x = run.in<Q>(0) + r.first;
      float* y = run.out<float>(0) + r.first;
      const float* scale = run.in<float>(1) + r.parameter;
      const Q* zero = zero_point + r.parameter;
      if (r.each) return dequantize_each(x, y, r.count, ElementParams<Q>{scale, zero, {}, Overflow::kLowest});
      dequantize_array(x, y, r.count, {*scale, static_cast<int64_t>(*zero), {}, Overflow::kLowest});
    });
    return Status();
  };
}

// ---- floats ---------------------------------------------------------------------------------------------------------

/// y = f(x, scale, zero point) over all elements, in float32; an absent zero point is 0.
template <typename F>
Kernel float_kernel(const ParamView& view, const F& f) {
  return [view, f](const Run& run) {
    const float* zeros = has_input(run, 2) ? run.in<float>(2) : nullptr;
    for_param_runs(view, [&](const ParamRun& r) {
      const float* x = run.in<float>(0) + r.first;
      float* y = run.out<float>(0) + r.first;
      for (int64_t i = 0; i < r.count; ++i) {
        const int64_t parameter = r.parameter + (r.each ? i : 0);
        y[i] = f(x[i], run.in<float>(1)[parameter], zeros == nullptr ? 0.0f : zeros[parameter]);
      }
    });
    return Status();
  };
}

float round_to(float x, ElementType precision) {
  if (precision == ElementType::kFloat16) return Float16(x);
  return precision == ElementType::kBFloat16 ? static_cast<float>(BFloat16(x)) : x;
}

/// Small floats; the division in `precision`. FLOAT8 keeps the sign of zero. Types below 8 bits always add the zero
/// point and so lose it, as the definition in the onnx package does.
Kernel quantize_to_small_float(const ParamView& view, ElementType to, ElementType precision) {
  const bool adds_zero = bits(to) < 8;
  return float_kernel(view, [precision, adds_zero](float x, float scale, float zero) {
    const float steps = round_to(x / scale, precision);
    return zero != 0.0f || adds_zero ? steps + zero : steps;
  });
}

/// Integers whose division is done in 16 bits: the quotient is rounded before it becomes an integer.
template <typename Q>
Kernel quantize_rounded_kernel(const ParamView& view, numeric::IntegerRange range, ElementType precision) {
  return [=, zeros = std::vector<Q>(static_cast<size_t>(view.parameters))](const Run& run) {
    const Q* zero_point = zero_points(run, zeros);
    for_param_runs(view, [&](const ParamRun& r) {
      for (int64_t i = 0; i < r.count; ++i) {
        const int64_t parameter = r.parameter + (r.each ? i : 0);
        const float steps = round_to(run.in<float>(0)[r.first + i] / run.in<float>(1)[parameter], precision);
        const LinearParams params{1.0f, static_cast<int64_t>(zero_point[parameter]), range, Overflow::kSaturate};
        run.out<Q>(0)[r.first + i] = static_cast<Q>(numeric::quantize(steps, params));
      }
    });
    return Status();
  };
}

/// The "quantized" 16-bit floats of com.amd.quark.
Kernel quantize_to_half(const ParamView& view, ElementType type) {
  if (type == ElementType::kBFloat16) {
    return float_kernel(view, [](float x, float scale, float zero) { return x / scale + zero; });
  }
  constexpr float kLargest = 65504.0f;  // FLOAT16: scale and zero point are ignored
  return float_kernel(view, [](float x, float, float) {
    return x < -kLargest ? -kLargest : x > kLargest ? kLargest : x;
  });
}

Kernel dequantize_float(const ParamView& view, ElementType type) {
  if (type == ElementType::kFloat16) return float_kernel(view, [](float x, float, float) { return x; });
  return float_kernel(view, [](float x, float scale, float zero) { return (x - zero) * scale; });
}

// ---- prepare --------------------------------------------------------------------------------------------------------

bool is_half_type(ElementType type) { return type == ElementType::kBFloat16 || type == ElementType::kFloat16; }
bool is_real(ElementType type) {
  return is_half_type(type) || type == ElementType::kFloat || type == ElementType::kDouble;
}

/// FLOAT8, FLOAT6 and FLOAT4E2M1: what Q and DQ of ai.onnx know besides integers.
bool is_quantized_float(ElementType type) { return numeric::is_small_float(type) && type != ElementType::kFloat8E8M0; }

/// Element type that an attribute names, or `fallback` when it is absent or 0.
Result<ElementType> type_attribute(const Prepare& p, std::string_view attribute, ElementType fallback) {
  const int64_t wire = p.node().int_or(attribute, 0);
  if (wire == 0) return fallback;
  const auto type = wire < 0 || wire > 1000 ? std::nullopt : element_type_from_wire(static_cast<int32_t>(wire));
  if (!type) return p.corrupt(attribute, " is ", wire, ", which is not an element type");
  return *type;
}

/// What the division is done in. Without the attribute: float32, as ONNX Runtime does whatever the scale's type.
Result<ElementType> read_precision(const Prepare& p) {
  QQ_TRY(const ElementType precision, type_attribute(p, "precision", ElementType::kFloat));
  if (precision == ElementType::kFloat || is_half_type(precision)) return precision;
  return p.cannot("precision is ", name(precision), ", allowed: FLOAT, FLOAT16, BFLOAT16");
}

Kernel make_quantize(const Prepare& p, const ParamView& view, ElementType to, ElementType precision) {
  const bool extended = is_extended(p);
  if (extended && is_half_type(to)) return quantize_to_half(view, to);
  if (!extended && is_quantized_float(to)) return quantize_to_small_float(view, to, precision);
  Kernel kernel;
  if (extended && numeric::is_packed(to)) return kernel;
  visit_quantized(compute_type(to), [&](auto tag) {
    using Q = typename decltype(tag)::type;
    const numeric::IntegerRange range = numeric::integer_range(to, numeric::RangeKind::kFull);
    if (is_half_type(precision))
      kernel = quantize_rounded_kernel<Q>(view, range, precision);
    else
      kernel = quantize_kernel<Q>(view, range, extended ? Overflow::kLowest : Overflow::kSaturate);
  });
  return kernel;
}

/// Inputs 0 and 1 as float32.
Status bridge_reals(const Prepare& p, size_t i, QuantBridge& bridge) {
  const ElementType type = p.in(i).type;
  const bool power = i == 1 && type == ElementType::kFloat8E8M0;
  if (!is_real(type) && !power && type != ElementType::kInt32) {
    return p.cannot("input ", i, " is ", name(type), ", allowed: FLOAT, FLOAT16, BFLOAT16, DOUBLE, INT32",
                    i == 1 ? ", FLOAT8E8M0" : "");
  }
  return bridge.input(p, i, ElementType::kFloat);
}

constexpr const char* kStoredTypes = "integers of 2 to 32 bits, FLOAT8, FLOAT6, FLOAT4E2M1";

}  // namespace

Result<Kernel> prepare_quantize(Prepare& p) {
  QQ_TRY(const ParamView view, read_param_view(p));
  if (is_extended(p) && !p.has(2)) return p.corrupt("input 2 is missing");
  QQ_TRY(const ElementType to, type_attribute(p, "output_dtype", p.has(2) ? p.in(2).type : ElementType::kUInt8));
  if (p.has(2) && to != p.in(2).type) {
    return p.corrupt("output_dtype is ", name(to), ", zero point ", name(p.in(2).type));
  }
  QQ_TRY(const ElementType precision, read_precision(p));
  Kernel kernel = make_quantize(p, view, to, precision);
  if (kernel == nullptr) return p.cannot("quantizes to ", name(to), ", allowed: ", kStoredTypes);
  QuantBridge bridge;
  QQ_RETURN_IF_ERROR(bridge_reals(p, 0, bridge));
  QQ_RETURN_IF_ERROR(bridge_reals(p, 1, bridge));
  QQ_RETURN_IF_ERROR(bridge.input(p, 2, compute_type(to)));
  QQ_RETURN_IF_ERROR(bridge.output(p, to, p.node().int_or("saturate", 1) != 0));
  return bridge.wrap(p, std::move(kernel));
}

Result<Kernel> prepare_dequantize(Prepare& p) {
  QQ_TRY(const ParamView view, read_param_view(p));
  const ElementType from = p.in(0).type;
  const bool extended = is_extended(p);
  if (p.has(2) && p.in(2).type != from) {
    return p.corrupt("zero point is ", name(p.in(2).type), ", input 0 ", name(from));
  }
  const ElementType scale = p.in(1).type;
  const ElementType fallback = extended || !is_real(scale) ? ElementType::kFloat : scale;
  QQ_TRY(const ElementType to, type_attribute(p, "output_dtype", fallback));
  Kernel kernel;
  if (extended ? is_half_type(from) : is_quantized_float(from)) kernel = dequantize_float(view, from);
  if (!extended || !numeric::is_packed(from)) {
    visit_quantized(compute_type(from),
                    [&](auto tag) { kernel = dequantize_kernel<typename decltype(tag)::type>(view); });
  }
  if (kernel == nullptr) return p.cannot("dequantizes ", name(from), ", allowed: ", kStoredTypes);
  if (!is_real(to)) return p.cannot("dequantizes to ", name(to), ", allowed: FLOAT, FLOAT16, BFLOAT16");
  QuantBridge bridge;
  QQ_RETURN_IF_ERROR(bridge.input(p, 0, compute_type(from)));
  QQ_RETURN_IF_ERROR(bridge_reals(p, 1, bridge));
  QQ_RETURN_IF_ERROR(bridge.input(p, 2, compute_type(from)));
  QQ_RETURN_IF_ERROR(bridge.output(p, to, /*saturate=*/true));
  return bridge.wrap(p, std::move(kernel));
}

namespace {

using enum LayoutRule;
constexpr OpDef kQuantDequantOps[] = {
    {"DequantizeLinear", "", 10, kFollow, prepare_dequantize},
    {"DequantizeLinear", ir::kMicrosoftDomain, 1, kFollow, prepare_dequantize},
    {"DynamicQuantizeLinear", "", 11, kFollow, prepare_dynamic_quantize},
    {"ExtendedDequantizeLinear", ir::kQuarkDomain, 1, kFollow, prepare_dequantize},
    {"ExtendedQuantizeLinear", ir::kQuarkDomain, 1, kFollow, prepare_quantize},
    {plan::kFakeQuantize, plan::kSimulationDomain, 1, kFollow, prepare_fake_quantize},
    {"QuantizeLinear", "", 10, kFollow, prepare_quantize},
    {"QuantizeLinear", ir::kMicrosoftDomain, 1, kFollow, prepare_quantize},
    {"VitisDequantizeLinear", ir::kVitisDomain, 1, kFollow, prepare_dequantize},
    {"VitisQuantizeLinear", ir::kVitisDomain, 1, kFollow, prepare_quantize},
};

}  // namespace

std::span<const OpDef> quant_dequant_ops() { return kQuantDequantOps; }

std::optional<PairParams> read_pair_params(const ir::Tensor* scale, const ir::Tensor* zero_point) {
  if (scale == nullptr || zero_point == nullptr || scale->type() != ElementType::kFloat) return std::nullopt;
  if (scale->size() != 1 || zero_point->size() != 1 || !is_integer(zero_point->type())) return std::nullopt;
  const int width = bits(zero_point->type());
  if (width != 8 && width != 16) return std::nullopt;
  const Result<std::vector<int64_t>> zero = ir::to_int64(*zero_point);
  if (!zero.ok()) return std::nullopt;
  return PairParams{scale->data<float>()[0], static_cast<int32_t>(zero.value()[0]), zero_point->type()};
}

bool is_fake_quantize(const ir::Node& node) {
  return node.op == plan::kFakeQuantize && node.domain == plan::kSimulationDomain;
}

bool saturates(const ir::Node& fake_quantize) {
  return fake_quantize.string_or(plan::kQuantizeDomain, "") != ir::kQuarkDomain;
}

namespace {

LinearParams linear_params(const PairParams& params, bool saturate) {
  return {params.scale, params.zero_point, numeric::integer_range(params.type, numeric::RangeKind::kFull),
          saturate ? Overflow::kSaturate : Overflow::kLowest};
}

}  // namespace

Kernel fake_quantize_kernel(const PairParams& params, bool saturate, int64_t count) {
  return [linear = linear_params(params, saturate), count](const Run& run) {
    for_elements(count, [&](int64_t begin, int64_t end) {
      QQ_DISPATCH(numeric, fake_quantize)
      (run.in<float>(0) + begin, run.out<float>(0) + begin, end - begin, linear);
    });
    return Status();
  };
}

Kernel codes_kernel(const PairParams& params, bool saturate, int64_t count) {
  QQ_CHECK(bits(params.type) == 8);
  return [linear = linear_params(params, saturate), type = params.type, count](const Run& run) {
    for_elements(count, [&](int64_t begin, int64_t end) {
      const float* x = run.in<float>(0) + begin;
      if (type == ElementType::kInt8)
        quantize_array(x, run.out<int8_t>(0) + begin, end - begin, linear);
      else
        quantize_array(x, run.out<uint8_t>(0) + begin, end - begin, linear);
    });
    return Status();
  };
}

Kernel values_kernel(const PairParams& params, int64_t count) {
  QQ_CHECK(bits(params.type) == 8);
  return [linear = linear_params(params, true), type = params.type, count](const Run& run) {
    for_elements(count, [&](int64_t begin, int64_t end) {
      float* y = run.out<float>(0) + begin;
      if (type == ElementType::kInt8)
        dequantize_array(run.in<int8_t>(0) + begin, y, end - begin, linear);
      else
        dequantize_array(run.in<uint8_t>(0) + begin, y, end - begin, linear);
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
  return fake_quantize_kernel(*params, saturates(p.node()), ir::checked_count(p.in(0).dims));
}

}  // namespace quarkq::exec

// SPDX-License-Identifier: MIT
// QuantizeLinear and DequantizeLinear of ai.onnx (opsets 10 to 25) and com.microsoft, and the Extended forms of
// com.amd.quark (ref:operators#quantize, ref:operators#dequantize). Integers go through numeric/linear_quant.h;
// "quantized" floats are float arithmetic whose result is rounded when it is stored. Other types are converted around
// the kernels (quant_bridge.h).
#include "exec/kernels/quantized/quant_dequant.h"
#include "exec/kernels/quantized/fake_quantize.h"
#include "exec/kernels/quantized/quant_arrays.h"
#include "exec/kernels/quantized/quant_bridge.h"
#include "exec/kernels/quantized/quant_params.h"
#include "exec/op_families.h"
#include "ir/domains.h"
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

/// Small floats; the division in `precision`. FLOAT8 keeps the sign of zero, FLOAT4E2M1 always adds the zero point and
/// so loses it, as the definition in the onnx package does.
Kernel quantize_to_small_float(const ParamView& view, ElementType to, ElementType precision) {
  const bool adds_zero = to == ElementType::kFloat4E2M1;
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

/// FLOAT8 and FLOAT4E2M1: what Q and DQ of ai.onnx know besides integers.
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
  if (extended && numeric::is_nibble(to)) return kernel;
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

constexpr const char* kStoredTypes = "integers of 4 to 32 bits, FLOAT8, FLOAT4E2M1";

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
  if (!extended || !numeric::is_nibble(from)) {
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

}  // namespace quarkq::exec

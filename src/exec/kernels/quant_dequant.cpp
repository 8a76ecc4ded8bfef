// SPDX-License-Identifier: MIT
// QuantizeLinear and DequantizeLinear of ai.onnx and com.microsoft, the Extended forms of com.amd.quark (spec 02 D.1,
// D.2) and DynamicQuantizeLinear. Integers go through numeric/linear_quant.h; "quantized" 16-bit floats are float
// arithmetic whose result is rounded when it is stored.
#include "exec/kernels/families.h"
#include "exec/kernels/float_bridge.h"
#include "exec/kernels/reduce_loops.h"
#include "numeric/linear_quant.h"

namespace quarkq::exec {
namespace {

using numeric::LinearParams;
using numeric::Overflow;

constexpr std::string_view kQuark = "com.amd.quark";

// ---- arrays of one scale --------------------------------------------------------------------------------------------

void quantize_array(const float* x, int8_t* y, int64_t n, const LinearParams& p) {
  QQ_DISPATCH(numeric, quantize_to_i8)(x, y, n, p);
}
void quantize_array(const float* x, uint8_t* y, int64_t n, const LinearParams& p) {
  QQ_DISPATCH(numeric, quantize_to_u8)(x, y, n, p);
}
void quantize_array(const float* x, int16_t* y, int64_t n, const LinearParams& p) {
  QQ_DISPATCH(numeric, quantize_to_i16)(x, y, n, p);
}
void quantize_array(const float* x, uint16_t* y, int64_t n, const LinearParams& p) {
  QQ_DISPATCH(numeric, quantize_to_u16)(x, y, n, p);
}
void quantize_array(const float* x, int32_t* y, int64_t n, const LinearParams& p) {
  QQ_DISPATCH(numeric, quantize_to_i32)(x, y, n, p);
}
void quantize_array(const float* x, uint32_t* y, int64_t n, const LinearParams& p) {
  for (int64_t i = 0; i < n; ++i) y[i] = static_cast<uint32_t>(numeric::quantize(x[i], p));
}

template <typename Q>
void dequantize_array(const Q* x, float* y, int64_t n, const LinearParams& p) {
  const auto zero_point = static_cast<int32_t>(p.zero_point);
  if constexpr (std::is_same_v<Q, int8_t>)
    QQ_DISPATCH(numeric, dequantize_i8)(x, y, n, p.scale, zero_point);
  else if constexpr (std::is_same_v<Q, uint8_t>)
    QQ_DISPATCH(numeric, dequantize_u8)(x, y, n, p.scale, zero_point);
  else if constexpr (std::is_same_v<Q, int16_t>)
    QQ_DISPATCH(numeric, dequantize_i16)(x, y, n, p.scale, zero_point);
  else if constexpr (std::is_same_v<Q, uint16_t>)
    QQ_DISPATCH(numeric, dequantize_u16)(x, y, n, p.scale, zero_point);
  else if constexpr (std::is_same_v<Q, int32_t>)
    QQ_DISPATCH(numeric, dequantize_i32)(x, y, n, p.scale, zero_point);
  else
    for (int64_t i = 0; i < n; ++i) y[i] = numeric::dequantize(x[i], p);
}

template <typename F>
bool visit_quantized(ElementType type, F&& f) {
  return visit_integer(type, [&](auto tag) {
    if constexpr (sizeof(typename decltype(tag)::type) <= 4) f(tag);
  });
}

// ---- one scale for all, or one for each index of an axis ------------------------------------------------------------

/// Calls body(first element, elements, channel) for runs that share a channel.
template <typename Body>
void for_channels(const AxisView& v, const Body& body) {
  if (v.outer * v.count == 1) {
    for_elements(v.inner, [&](int64_t begin, int64_t end) { body(begin, end - begin, 0); });
    return;
  }
  for_rows(v.outer * v.count, v.inner, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) body(i * v.inner, v.inner, i % v.count);
  });
}

constexpr int64_t kShortRun = 16;  ///< runs below this go element by element

template <typename Q>
Kernel quantize_kernel(const AxisView& view, numeric::IntegerRange range, Overflow overflow) {
  return [=](const Run& run) {
    const bool has_zero = has_input(run, 2);
    for_channels(view, [&](int64_t first, int64_t n, int64_t channel) {
      const int64_t zero_point = has_zero ? static_cast<int64_t>(run.in<Q>(2)[channel]) : 0;
      const LinearParams params{run.in<float>(1)[channel], zero_point, range, overflow};
      const float* x = run.in<float>(0) + first;
      Q* y = run.out<Q>(0) + first;
      if (n >= kShortRun) return quantize_array(x, y, n, params);
      for (int64_t i = 0; i < n; ++i) y[i] = static_cast<Q>(numeric::quantize(x[i], params));
    });
    return Status();
  };
}

template <typename Q>
Kernel dequantize_kernel(const AxisView& view) {
  return [=](const Run& run) {
    const bool has_zero = has_input(run, 2);
    for_channels(view, [&](int64_t first, int64_t n, int64_t channel) {
      const int64_t zero_point = has_zero ? static_cast<int64_t>(run.in<Q>(2)[channel]) : 0;
      const LinearParams params{run.in<float>(1)[channel], zero_point, {}, Overflow::kLowest};
      dequantize_array(run.in<Q>(0) + first, run.out<float>(0) + first, n, params);
    });
    return Status();
  };
}

/// Checks scale and zero point; the view says how many elements share a scale.
Result<AxisView> check_parameters(const Prepare& p) {
  QQ_RETURN_IF_ERROR(p.require_input(0));
  QQ_RETURN_IF_ERROR(require_real(p, 1));
  const Spec& x = p.in(0);
  const ir::Shape& scale = p.in(1).dims;
  if (p.node().int_or("block_size", 0) != 0 || scale.size() > 1) {
    return p.cannot("scale is ", shape_text(scale),
                    " (block-wise), allowed: one for the tensor or for each index of an axis");
  }
  const int64_t count = product(scale);
  if (p.has(2) && product(p.in(2).dims) != count) {
    return p.corrupt("zero point is ", shape_text(p.in(2).dims), ", scale ", shape_text(scale));
  }
  if (count == 1) return AxisView{1, 1, product(x.dims)};
  QQ_TRY(const int64_t axis, p.axis(p.node().int_or("axis", p.node().domain == kQuark ? 0 : 1), x.rank()));
  const AxisView view = axis_view(x.dims, axis);
  if (view.count != count) return p.corrupt(count, " scales for an axis of length ", view.count);
  return view;
}

/// Element type that an attribute names, or `fallback` when it is absent or 0.
Result<ElementType> type_attribute(const Prepare& p, std::string_view attribute, ElementType fallback) {
  const int64_t wire = p.node().int_or(attribute, 0);
  if (wire == 0) return fallback;
  const auto type = wire < 0 || wire > 1000 ? std::nullopt : element_type_from_wire(static_cast<int32_t>(wire));
  if (!type) return p.corrupt(attribute, " is ", wire, ", which is no element type");
  return *type;
}

// ---- the "quantized" 16-bit floats of com.amd.quark -----------------------------------------------------------------

bool is_half(ElementType type) { return type == ElementType::kBFloat16 || type == ElementType::kFloat16; }

/// f over all elements; scale and zero point arrive as floats, the output is rounded by the bridge.
template <typename F>
Kernel float_kernel(const AxisView& view, const F& f) {
  return [view, f](const Run& run) {
    for_channels(view, [&](int64_t first, int64_t n, int64_t channel) {
      const float scale = run.in<float>(1)[channel];
      const float zero = has_input(run, 2) ? run.in<float>(2)[channel] : 0.0f;
      for (int64_t i = first; i < first + n; ++i) run.out<float>(0)[i] = f(run.in<float>(0)[i], scale, zero);
    });
    return Status();
  };
}

Kernel quantize_to_half(const AxisView& view, ElementType type) {
  if (type == ElementType::kBFloat16) {
    return float_kernel(view, [](float x, float scale, float zero) { return x / scale + zero; });
  }
  constexpr float kLargest = 65504.0f;  // FLOAT16: scale and zero point are ignored
  return float_kernel(view, [](float x, float, float) {
    return x < -kLargest ? -kLargest : x > kLargest ? kLargest : x;
  });
}

Kernel dequantize_half(const AxisView& view, ElementType type) {
  if (type == ElementType::kBFloat16) {
    return float_kernel(view, [](float x, float scale, float zero) { return (x - zero) * scale; });
  }
  return float_kernel(view, [](float x, float, float) { return x; });
}

// ---- prepare --------------------------------------------------------------------------------------------------------

Result<Kernel> prepare_quantize(Prepare& p) {
  QQ_TRY(const AxisView view, check_parameters(p));
  QQ_RETURN_IF_ERROR(require_real(p, 0));
  const bool quark = p.node().domain == kQuark;
  if (quark && !p.has(2)) return p.corrupt("input 2 is missing");
  QQ_TRY(const ElementType named, type_attribute(p, "output_dtype", p.has(2) ? p.in(2).type : ElementType::kUInt8));
  if (p.has(2) && named != p.in(2).type) {
    return p.corrupt("output_dtype is ", name(named), ", zero point ", name(p.in(2).type));
  }
  const Overflow overflow = quark ? Overflow::kLowest : Overflow::kSaturate;
  Kernel kernel;
  visit_quantized(named, [&](auto tag) {
    const numeric::IntegerRange range = numeric::integer_range(named, numeric::RangeKind::kFull);
    kernel = quantize_kernel<typename decltype(tag)::type>(view, range, overflow);
  });
  if (quark && is_half(named)) kernel = quantize_to_half(view, named);
  if (kernel == nullptr) return p.cannot("quantizes to ", name(named), ", allowed: integers of 8 to 32 bits");
  p.out(0, named, p.in(0).dims);
  return bridged(p, std::move(kernel));
}

Result<Kernel> prepare_dequantize(Prepare& p) {
  QQ_TRY(const AxisView view, check_parameters(p));
  const ElementType from = p.in(0).type;
  const bool quark = p.node().domain == kQuark;
  if (p.has(2) && p.in(2).type != from) {
    return p.corrupt("zero point is ", name(p.in(2).type), ", input 0 ", name(from));
  }
  QQ_TRY(const ElementType to, type_attribute(p, "output_dtype", quark ? ElementType::kFloat : p.in(1).type));
  Kernel kernel;
  visit_quantized(from, [&](auto tag) { kernel = dequantize_kernel<typename decltype(tag)::type>(view); });
  if (quark && is_half(from)) kernel = dequantize_half(view, from);
  if (kernel == nullptr) return p.cannot("dequantizes ", name(from), ", allowed: integers of 8 to 32 bits");
  if (!is_floating(to) || bits(to) < 16) {
    return p.cannot("dequantizes to ", name(to), ", allowed: FLOAT, FLOAT16, BFLOAT16");
  }
  p.out(0, to, p.in(0).dims);
  return bridged(p, std::move(kernel));
}

/// UINT8 with limits from the data: y, scale, zero point.
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

constexpr LayoutRule kFollow = LayoutRule::kFollow;
constexpr OpDef kOps[] = {
    {"DequantizeLinear", "", 10, kFollow, prepare_dequantize},
    {"DequantizeLinear", "com.microsoft", 1, kFollow, prepare_dequantize},
    {"DynamicQuantizeLinear", "", 11, kFollow, prepare_dynamic_quantize},
    {"ExtendedDequantizeLinear", kQuark, 1, kFollow, prepare_dequantize},
    {"ExtendedQuantizeLinear", kQuark, 1, kFollow, prepare_quantize},
    {"QuantizeLinear", "", 10, kFollow, prepare_quantize},
    {"QuantizeLinear", "com.microsoft", 1, kFollow, prepare_quantize},
};

}  // namespace

std::span<const OpDef> quant_dequant_ops() { return kOps; }

}  // namespace quarkq::exec

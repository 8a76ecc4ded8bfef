// SPDX-License-Identifier: MIT
// Assignment of scales and zero points of QuantizeLinear and DequantizeLinear to elements: one for the tensor, one per
// index of an axis, or one per block of an axis (opset 21).
#pragma once

#include <cstdint>

#include "exec/kernels/elementwise/cast_elements.h"
#include "exec/kernels/shared/support.h"
#include "exec/kernels/shared/type_bridges.h"
#include "numeric/linear_quant.h"

namespace quarkq::exec {

struct ParamView {
  AxisView axis;           ///< around the quantized axis; one parameter: everything is `inner`
  int64_t block = 0;       ///< elements of the axis that share a parameter; 0 when not in blocks
  int64_t blocks = 0;      ///< Number of blocks along the axis.
  int64_t parameters = 1;  ///< number of scales
};

/// Elements [first, first + count) use the parameters from `parameter` on: all the same one, or with `each` one each.
struct ParamRun {
  int64_t first = 0, count = 0;
  int64_t parameter = 0;
  bool each = false;
};

/// Reads axis and block_size of `p` and checks shapes of inputs 0 to 2. Shapes are in memory order, and so is the view.
Result<ParamView> read_param_view(const Prepare& p);

/// Calls body(ParamRun) until all elements are covered, over threads.
template <typename Body>
void for_param_runs(const ParamView& v, const Body& body) {
  const AxisView& a = v.axis;
  if (v.parameters == 1 && v.block == 0) {
    return for_elements(a.inner, [&](int64_t begin, int64_t end) { body(ParamRun{begin, end - begin, 0, false}); });
  }
  if (a.inner == 1 && v.block == 0) {  // channels last
    return for_rows(a.outer, a.count, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) body(ParamRun{i * a.count, a.count, 0, true});
    });
  }
  if (a.inner == 1) {
    return for_rows(a.outer * v.blocks, std::min(v.block, a.count), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t within = i % v.blocks * v.block;
        body(ParamRun{i / v.blocks * a.count + within, std::min(v.block, a.count - within), i, false});
      }
    });
  }
  for_rows(a.outer * a.count, a.inner, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t outer = i / a.count, index = i % a.count;
      if (v.block == 0)
        body(ParamRun{i * a.inner, a.inner, index, false});
      else
        body(ParamRun{i * a.inner, a.inner, (outer * v.blocks + index / v.block) * a.inner, true});
    }
  });
}

// Adapts the kernels of QuantizeLinear and DequantizeLinear, which support float32 and integers of 8 to 32 bits, to all
// types: inputs are first converted into scratch memory, the output is converted or packed afterwards.

/// Returns the type in which elements of `type` are computed: float32 for all reals, 8-bit integers for smaller ones.
inline ElementType compute_type(ElementType type) {
  if (is_floating(type)) return ElementType::kFloat;
  if (!numeric::is_packed(type)) return type;
  return type == ElementType::kInt4 || type == ElementType::kInt2 ? ElementType::kInt8 : ElementType::kUInt8;
}

class QuantBridge {
 public:
  /// Input `i`, if it is not omitted, is passed to the kernel as `wide`.
  Status input(const Prepare& p, size_t i, ElementType wide);
  /// The kernel writes compute_type(stored). Declares output 0 with the shape of input 0.
  Status output(Prepare& p, ElementType stored, bool saturate);
  /// Returns the wrapped kernel and requests the scratch memory.
  Kernel wrap(Prepare& p, Kernel kernel) const;

 private:
  struct Value {
    size_t index = 0;
    ElementCast cast;
    int64_t count = 0;
    size_t offset = 0;  ///< Offset of the wide elements in scratch, in bytes.
  };
  struct Target {
    bool wide = false, converts = false, packs = false;
    ElementCast cast;
    size_t wide_offset = 0, codes_offset = 0;
    ir::Shape dims;
    Layout layout = Layout::kPlain;
    int width = 8;  ///< Bits of an element.
  };
  size_t reserve(ElementType type, int64_t count);
  void store_target(const Run& run) const;

  std::vector<Value> inputs_;
  Target target_;
  size_t bytes_ = 0;
};

// Quantizes and dequantizes arrays: numeric/linear_quant.h chosen by element type. Integers of 8 to 32 bits.

using numeric::ElementParams;
using numeric::LinearParams;
using numeric::Overflow;

// ---- arrays of one scale, and arrays with a scale for each element --------------------------------------------------

inline void quantize_array(const float* x, int8_t* y, int64_t n, const LinearParams& p) {
  QQ_DISPATCH(numeric, quantize_to_i8)(x, y, n, p);
}
inline void quantize_array(const float* x, int16_t* y, int64_t n, const LinearParams& p) {
  QQ_DISPATCH(numeric, quantize_to_i16)(x, y, n, p);
}
inline void quantize_array(const float* x, uint16_t* y, int64_t n, const LinearParams& p) {
  QQ_DISPATCH(numeric, quantize_to_u16)(x, y, n, p);
}
inline void quantize_array(const float* x, uint8_t* y, int64_t n, const LinearParams& p) {
  QQ_DISPATCH(numeric, quantize_to_u8)(x, y, n, p);
}
inline void quantize_array(const float* x, int32_t* y, int64_t n, const LinearParams& p) {
  QQ_DISPATCH(numeric, quantize_to_i32)(x, y, n, p);
}
inline void quantize_array(const float* x, uint32_t* y, int64_t n, const LinearParams& p) {
  for (int64_t i = 0; i < n; ++i) y[i] = static_cast<uint32_t>(numeric::quantize(x[i], p));
}

template <typename Q>
void quantize_each(const float* x, Q* y, int64_t n, const ElementParams<Q>& p) {
  if constexpr (std::is_same_v<Q, int8_t>)
    QQ_DISPATCH(numeric, quantize_each_to_i8)(x, y, n, p);
  else if constexpr (std::is_same_v<Q, uint8_t>)
    QQ_DISPATCH(numeric, quantize_each_to_u8)(x, y, n, p);
  else if constexpr (std::is_same_v<Q, int16_t>)
    QQ_DISPATCH(numeric, quantize_each_to_i16)(x, y, n, p);
  else if constexpr (std::is_same_v<Q, uint16_t>)
    QQ_DISPATCH(numeric, quantize_each_to_u16)(x, y, n, p);
  else
    for (int64_t i = 0; i < n; ++i) {
      y[i] = static_cast<Q>(numeric::quantize(x[i], {p.scale[i], p.zero_point[i], p.range, p.overflow}));
    }
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

template <typename Q>
void dequantize_each(const Q* x, float* y, int64_t n, const ElementParams<Q>& p) {
  if constexpr (std::is_same_v<Q, int8_t>)
    QQ_DISPATCH(numeric, dequantize_each_i8)(x, y, n, p);
  else if constexpr (std::is_same_v<Q, uint8_t>)
    QQ_DISPATCH(numeric, dequantize_each_u8)(x, y, n, p);
  else if constexpr (std::is_same_v<Q, int16_t>)
    QQ_DISPATCH(numeric, dequantize_each_i16)(x, y, n, p);
  else if constexpr (std::is_same_v<Q, uint16_t>)
    QQ_DISPATCH(numeric, dequantize_each_u16)(x, y, n, p);
  else
    for (int64_t i = 0; i < n; ++i) y[i] = numeric::dequantize(x[i], {p.scale[i], p.zero_point[i], {}, p.overflow});
}

template <typename F>
bool visit_quantized(ElementType type, F&& f) {
  return visit_integer(type, [&](auto tag) {
    if constexpr (sizeof(typename decltype(tag)::type) <= 4) f(tag);
  });
}

}  // namespace quarkq::exec

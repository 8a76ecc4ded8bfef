// SPDX-License-Identifier: MIT
// Runs a float32 kernel on 16-bit floats or doubles: constants are converted once, other inputs into scratch memory in
// every call; the kernel computes there, and outputs are rounded once. Elementwise, so memory layouts do not matter.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "exec/kernels/shared/float_rows.h"
#include "exec/kernels/shared/support.h"
#include "numeric/small_floats.h"

namespace quarkq::exec {

/// Elements [begin, end) of x, of a real type, as floats.
inline void real_to_floats(ElementType type, const std::byte* x, float* y, int64_t begin, int64_t end) {
  const int64_t n = end - begin;
  const auto* half = reinterpret_cast<const uint16_t*>(x) + begin;
  switch (type) {
    case ElementType::kFloat16: return QQ_DISPATCH(exec, floats_from_float16)(half, y + begin, n);
    case ElementType::kBFloat16: return QQ_DISPATCH(exec, floats_from_bfloat16)(half, y + begin, n);
    case ElementType::kDouble: return to_floats(reinterpret_cast<const double*>(x) + begin, y + begin, n);
    default: std::copy_n(reinterpret_cast<const float*>(x) + begin, n, y + begin);
  }
}
inline void floats_to_real(ElementType type, const float* x, std::byte* y, int64_t begin, int64_t end) {
  const int64_t n = end - begin;
  auto* half = reinterpret_cast<uint16_t*>(y) + begin;
  switch (type) {
    case ElementType::kFloat16: return QQ_DISPATCH(exec, float16_from_floats)(x + begin, half, n);
    case ElementType::kBFloat16: return QQ_DISPATCH(exec, bfloat16_from_floats)(x + begin, half, n);
    case ElementType::kDouble: return from_floats(x + begin, reinterpret_cast<double*>(y) + begin, n);
    default: std::copy_n(x + begin, n, reinterpret_cast<float*>(y) + begin);
  }
}

/// Constant input `i`, of a real type, as float32: the tensor itself when it is that already. Undefined when the input
/// is absent or not known yet.
inline ir::Tensor float_constant(const Prepare& p, size_t i) {
  const ir::Tensor* constant = p.constant(i);
  if (constant == nullptr || constant->type() == ElementType::kFloat) {
    return constant == nullptr ? ir::Tensor() : *constant;
  }
  ir::Tensor floats = ir::Tensor::allocate(ElementType::kFloat, constant->dims());
  auto* y = reinterpret_cast<float*>(floats.mutable_raw());
  for_elements(constant->size(),
               [&](int64_t begin, int64_t end) { real_to_floats(constant->type(), constant->raw(), y, begin, end); });
  return floats;
}

/// One input or output that is converted.
struct BridgedValue {
  size_t index = 0;
  ElementType type = ElementType::kFloat;
  int64_t count = 0;
  size_t offset = 0;    ///< in scratch, bytes
  ir::Tensor constant;  ///< defined when it was converted already
};

struct FloatBridge {
  std::vector<BridgedValue> inputs, outputs;
  size_t own_bytes = 0;  ///< scratch of the kernel itself, in front of the values
  size_t bytes = 0;

  void add(std::vector<BridgedValue>& list, BridgedValue value) {
    value.offset = own_bytes + bytes;
    if (!value.constant.is_defined()) bytes += (static_cast<size_t>(value.count) * sizeof(float) + 63) / 64 * 64;
    list.push_back(std::move(value));
  }
};

inline Status run_bridged(const FloatBridge& bridge, const Kernel& kernel, const Run& run) {
  std::array<const std::byte*, 8> inputs{};
  std::array<std::byte*, 8> outputs{};
  std::copy(run.inputs.begin(), run.inputs.end(), inputs.begin());
  std::copy(run.outputs.begin(), run.outputs.end(), outputs.begin());
  for (const BridgedValue& v : bridge.inputs) {
    inputs[v.index] = v.constant.is_defined() ? v.constant.raw() : run.scratch + v.offset;
    if (v.constant.is_defined()) continue;
    auto* floats = reinterpret_cast<float*>(run.scratch + v.offset);
    for_elements(v.count,
                 [&](int64_t begin, int64_t end) { real_to_floats(v.type, run.inputs[v.index], floats, begin, end); });
  }
  for (const BridgedValue& v : bridge.outputs) outputs[v.index] = run.scratch + v.offset;
  QQ_RETURN_IF_ERROR(
      kernel(Run{{inputs.data(), run.inputs.size()}, {outputs.data(), run.outputs.size()}, run.scratch}));
  for (const BridgedValue& v : bridge.outputs) {
    const auto* floats = reinterpret_cast<const float*>(run.scratch + v.offset);
    for_elements(v.count,
                 [&](int64_t begin, int64_t end) { floats_to_real(v.type, floats, run.outputs[v.index], begin, end); });
  }
  return Status();
}

/// Returns the kernel for a node: `kernel` itself if everything is float32, otherwise `kernel` between conversions.
/// Call it after all outputs are declared. It also requests the scratch memory, whose first `own_bytes` belong to the
/// kernel. Every input and output of a real type is converted, except inputs whose bit is set in `taken`: the kernel
/// copied those constants while it was prepared (float_constant()) and never reads them in a run.
inline Result<Kernel> bridged(Prepare& p, Kernel kernel, size_t own_bytes = 0, uint32_t taken = 0) {
  FloatBridge bridge;
  bridge.own_bytes = (own_bytes + 63) / 64 * 64;
  const auto needs = [](ElementType type) {
    return type != ElementType::kFloat && is_floating(type) && bits(type) >= 16;
  };
  if (p.input_count() > 8 || p.output_count() > 8) return p.cannot("more than 8 inputs or outputs");
  for (size_t i = 0; i < p.input_count(); ++i) {
    if (!p.has(i) || !needs(p.in(i).type) || (taken >> i & 1) != 0) continue;
    bridge.add(bridge.inputs, {i, p.in(i).type, product(p.in(i).dims), 0, float_constant(p, i)});
  }
  for (size_t i = 0; i < p.output_count(); ++i) {
    const Spec& y = p.output(i).spec;
    if (p.wants(i) && needs(y.type)) bridge.add(bridge.outputs, {i, y.type, product(y.dims), 0, {}});
  }
  for (size_t i = 0; i < p.input_count(); ++i)
    if ((taken >> i & 1) != 0) p.take(i);
  p.scratch(bridge.own_bytes + bridge.bytes);
  if (bridge.inputs.empty() && bridge.outputs.empty()) return kernel;
  return Kernel([bridge = std::move(bridge), kernel = std::move(kernel)](const Run& run) {
    return run_bridged(bridge, kernel, run);
  });
}

/// Fails unless input `i` is there and of a type that bridged() converts.
inline Status require_real(const Prepare& p, size_t i) {
  return p.require_input(i, {ElementType::kFloat, ElementType::kFloat16, ElementType::kBFloat16, ElementType::kDouble});
}

// Elements below 8 bits inside kernels. They are processed one per byte and packed at the end. Packed elements cannot
// be moved one by one, so a packed value is always in ONNX order. A kernel that follows a channels-last input reorders
// its result while packing.

/// Fails if input `i` contains packed elements in an order other than ONNX order.
inline Status require_plain_packed(const Prepare& p, size_t i) {
  const Spec& spec = p.in(i);
  if (!numeric::is_packed(spec.type) || spec.layout == Layout::kPlain || spec.rank() < 3) return Status();
  return p.cannot("input ", i, " is ", name(spec.type), " in channels-last order, allowed: ONNX order");
}

/// Declares output `i` with the shape of input 0; plain when its elements are below 8 bits.
inline void declare_like_input(Prepare& p, size_t i, ElementType type) {
  const Spec& x = p.in(0);
  if (!numeric::is_packed(type)) return p.out(i, type, x.dims, x.layout);
  p.out(i, type, logical_dims(x.dims, x.layout), Layout::kPlain);
}

/// Packs codes of `width` bits from memory order of `layout`, with dims `stored`, in ONNX order.
inline void pack_in_onnx_order(const uint8_t* codes, uint8_t* packed, const ir::Shape& stored, Layout layout,
                               int width) {
  const int64_t count = product(stored);
  if (layout == Layout::kPlain || stored.size() < 3) return numeric::pack_codes(codes, packed, count, width);
  const int64_t channels = stored.back(), spatial = product(stored, 1, static_cast<int64_t>(stored.size()) - 1);
  std::fill_n(packed, (count * width + 7) / 8, uint8_t{0});
  int64_t at = 0;  // bits written
  for (int64_t image = 0; image < stored[0]; ++image) {
    for (int64_t c = 0; c < channels; ++c) {
      for (int64_t s = 0; s < spatial; ++s, at += width) {
        const int code = (codes[(image * spatial + s) * channels + c] & ((1 << width) - 1)) << (at % 8);
        packed[at / 8] = static_cast<uint8_t>(packed[at / 8] | code);
        if (code > 255) packed[at / 8 + 1] = static_cast<uint8_t>(code >> 8);
      }
    }
  }
}

}  // namespace quarkq::exec

// SPDX-License-Identifier: MIT
// Quantizing and dequantizing in one step, bit for bit equal to a Q node and its DQ (ref:operators#quantize,
// ref:operators#dequantize). The compiler creates such steps; the kernel is in kernels/quantized.
#pragma once

#include <optional>

#include "exec/op_def.h"

namespace quarkq::exec {

/// Scale and zero point of a per-tensor Q or DQ node with integer codes of at most 16 bits.
struct PairParams {
  float scale = 0;
  int32_t zero_point = 0;
  ElementType type = ElementType::kUndefined;
  bool operator==(const PairParams&) const = default;
};

/// Returns nullopt for other types, and for more than one scale or zero point.
std::optional<PairParams> read_pair_params(const ir::Tensor* scale, const ir::Tensor* zero_point);

/// Returns whether the node is a FakeQuantize of a simulated plan (plan/lowering/lower.h).
bool is_fake_quantize(const ir::Node& node);
/// Returns whether a FakeQuantize node saturates, see fake_quantize_kernel().
bool saturates(const ir::Node& fake_quantize);

/// Returns a kernel from float32 to float32. `saturate`: values out of range become the nearest end; false: the lowest,
/// as in com.amd.quark.
Kernel fake_quantize_kernel(const PairParams& params, bool saturate, int64_t count);
/// Returns a kernel from float32 to the codes alone. REQUIRES: params of 8 bits.
Kernel codes_kernel(const PairParams& params, bool saturate, int64_t count);
/// Returns a kernel from codes to float32. REQUIRES: params of 8 bits.
Kernel values_kernel(const PairParams& params, int64_t count);

}  // namespace quarkq::exec

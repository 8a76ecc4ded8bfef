// SPDX-License-Identifier: MIT
// Runs a float32 kernel on 16-bit floats or doubles: inputs are converted into scratch memory, the kernel computes
// there, outputs are rounded back. For operators that rarely see such types.
#pragma once

#include <array>
#include <cstdint>

#include "exec/kernels/support.h"

namespace quarkq::exec {

/// One input or output that is converted.
struct BridgedValue {
  size_t index = 0;
  ElementType type = ElementType::kFloat;
  int64_t count = 0;
  size_t offset = 0;  ///< in scratch, bytes
};

struct FloatBridge {
  std::vector<BridgedValue> inputs, outputs;
  size_t bytes = 0;

  void add(std::vector<BridgedValue>& list, size_t index, ElementType type, int64_t count) {
    list.push_back({index, type, count, bytes});
    bytes += (static_cast<size_t>(count) * sizeof(float) + 63) / 64 * 64;
  }
};

inline Status run_bridged(const FloatBridge& bridge, const Kernel& kernel, size_t own_bytes, const Run& run) {
  std::array<const std::byte*, 8> inputs{};
  std::array<std::byte*, 8> outputs{};
  std::copy(run.inputs.begin(), run.inputs.end(), inputs.begin());
  std::copy(run.outputs.begin(), run.outputs.end(), outputs.begin());
  const auto floats = [&](const BridgedValue& v) {
    return reinterpret_cast<float*>(run.scratch + own_bytes + v.offset);
  };
  for (const BridgedValue& v : bridge.inputs) {
    visit_real(v.type, [&](auto tag) { to_floats(run.in<typename decltype(tag)::type>(v.index), floats(v), v.count); });
    inputs[v.index] = reinterpret_cast<const std::byte*>(floats(v));
  }
  for (const BridgedValue& v : bridge.outputs) outputs[v.index] = reinterpret_cast<std::byte*>(floats(v));
  QQ_RETURN_IF_ERROR(
      kernel(Run{{inputs.data(), run.inputs.size()}, {outputs.data(), run.outputs.size()}, run.scratch}));
  for (const BridgedValue& v : bridge.outputs) {
    visit_real(v.type,
               [&](auto tag) { from_floats(floats(v), run.out<typename decltype(tag)::type>(v.index), v.count); });
  }
  return Status();
}

/// The kernel to return: `kernel` itself when everything is float32, else `kernel` between conversions. Call it after
/// all outputs are declared; it also asks for the scratch memory, `own_bytes` of which come first and are the kernel's
/// own. Every input and output of a real type is converted.
inline Result<Kernel> bridged(Prepare& p, Kernel kernel, size_t own_bytes = 0) {
  FloatBridge bridge;
  own_bytes = (own_bytes + 63) / 64 * 64;
  const auto needs = [](ElementType type) {
    return type != ElementType::kFloat && is_floating(type) && bits(type) >= 16;
  };
  for (size_t i = 0; i < p.input_count(); ++i) {
    if (p.has(i) && needs(p.in(i).type)) bridge.add(bridge.inputs, i, p.in(i).type, product(p.in(i).dims));
  }
  for (size_t i = 0; i < p.output_count(); ++i) {
    const Spec& y = p.output(i).spec;
    if (p.wants(i) && needs(y.type)) bridge.add(bridge.outputs, i, y.type, product(y.dims));
  }
  if (p.input_count() > 8 || p.output_count() > 8) return p.cannot("more than 8 inputs or outputs");
  p.scratch(own_bytes + bridge.bytes);
  if (bridge.bytes == 0) return kernel;
  return Kernel([bridge = std::move(bridge), kernel = std::move(kernel), own_bytes](const Run& run) {
    return run_bridged(bridge, kernel, own_bytes, run);
  });
}

/// Fails unless input `i` is there and of a type that bridged() converts.
inline Status require_real(const Prepare& p, size_t i) {
  return p.require_input(i, {ElementType::kFloat, ElementType::kFloat16, ElementType::kBFloat16, ElementType::kDouble});
}

}  // namespace quarkq::exec

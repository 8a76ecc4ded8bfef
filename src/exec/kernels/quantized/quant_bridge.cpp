// SPDX-License-Identifier: MIT
#include "exec/kernels/quantized/quant_bridge.h"

#include <array>

namespace quarkq::exec {

size_t QuantBridge::reserve(ElementType type, int64_t count) {
  const size_t offset = bytes_;
  bytes_ += (static_cast<size_t>(storage_bytes(type, count)) + 63) / 64 * 64;
  return offset;
}

Status QuantBridge::input(const Prepare& p, size_t i, ElementType wide) {
  if (!p.has(i)) return Status();
  QQ_RETURN_IF_ERROR(require_plain_nibbles(p, i));
  const ElementType type = p.in(i).type;
  if (type == wide) return Status();
  const auto cast = make_element_cast(type, wide);
  if (!cast) return p.cannot("input ", i, " is ", name(type), ", allowed: numbers");
  const int64_t count = product(p.in(i).dims);
  inputs_.push_back({i, *cast, count, reserve(wide, count)});
  return Status();
}

Status QuantBridge::output(Prepare& p, ElementType stored, bool saturate) {
  const ElementType wide = compute_type(stored);
  const Spec& x = p.in(0);
  const int64_t count = product(x.dims);
  declare_like_input(p, 0, stored);
  target_.packs = numeric::is_nibble(stored);
  target_.wide = wide != stored;
  target_.converts = target_.wide && (!target_.packs || wide == ElementType::kFloat);
  target_.dims = x.dims;
  target_.layout = x.layout;
  if (target_.wide) target_.wide_offset = reserve(wide, count);
  if (!target_.converts) return Status();
  numeric::SmallFloatSettings settings;
  settings.saturate = saturate;
  const auto cast = make_element_cast(wide, stored, settings);
  if (!cast) return p.cannot("output is ", name(stored), ", allowed: numbers");
  target_.cast = *cast;
  if (target_.packs) target_.codes_offset = reserve(ElementType::kUInt8, count);
  return Status();
}

void QuantBridge::store_target(const Run& run) const {
  const std::byte* codes = run.scratch + target_.wide_offset;
  if (target_.converts) {
    std::byte* to = target_.packs ? run.scratch + target_.codes_offset : run.outputs[0];
    cast_elements(target_.cast, codes, to, product(target_.dims));
    codes = to;
  }
  if (!target_.packs) return;
  pack_in_onnx_order(reinterpret_cast<const uint8_t*>(codes), run.out<uint8_t>(0), target_.dims, target_.layout);
}

Kernel QuantBridge::wrap(Prepare& p, Kernel kernel) const {
  p.scratch(bytes_);
  if (inputs_.empty() && !target_.wide) return kernel;
  return [bridge = *this, kernel = std::move(kernel)](const Run& run) {
    std::array<const std::byte*, 3> inputs{};  // a node with more never gets here, but nothing may hang on that
    const size_t count = std::min(run.inputs.size(), inputs.size());
    std::copy_n(run.inputs.begin(), count, inputs.begin());
    for (const Value& v : bridge.inputs_) {
      cast_elements(v.cast, run.inputs[v.index], run.scratch + v.offset, v.count);
      inputs[v.index] = run.scratch + v.offset;
    }
    std::array<std::byte*, 1> outputs = {run.outputs[0]};
    if (bridge.target_.wide) outputs[0] = run.scratch + bridge.target_.wide_offset;
    QQ_RETURN_IF_ERROR(kernel(Run{{inputs.data(), count}, outputs, nullptr}));
    if (bridge.target_.wide) bridge.store_target(run);
    return Status();
  };
}

}  // namespace quarkq::exec

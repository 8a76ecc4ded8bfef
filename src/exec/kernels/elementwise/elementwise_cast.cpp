// SPDX-License-Identifier: MIT
// Cast and CastLike between all numeric types (opsets 6 to 25).
#include "exec/kernels/elementwise/cast_elements.h"
#include "exec/kernels/elementwise/elementwise.h"
#include "exec/kernels/shared/nibbles.h"

namespace quarkq::exec {
namespace {

/// Packed targets are collected in scratch memory, one code to a byte.
Kernel cast_kernel(const ElementCast& plan, const Spec& x) {
  const int64_t n = product(x.dims);
  if (!numeric::is_nibble(plan.to)) {
    return [plan, n](const Run& run) {
      cast_elements(plan, run.inputs[0], run.outputs[0], n);
      return Status();
    };
  }
  return [plan, n, dims = x.dims, layout = x.layout](const Run& run) {
    cast_elements(plan, run.inputs[0], run.scratch, n);
    pack_in_onnx_order(reinterpret_cast<const uint8_t*>(run.scratch), run.out<uint8_t>(0), dims, layout);
    return Status();
  };
}

Result<numeric::SmallFloatSettings> read_settings(const Prepare& p, ElementType to) {
  numeric::SmallFloatSettings settings;
  settings.type = to;
  settings.saturate = p.node().int_or("saturate", 1) != 0;
  const std::string mode = p.node().string_or("round_mode", "up");
  const auto rounding = numeric::power_rounding_from_name(mode);
  if (!rounding) return p.corrupt("round_mode is '", mode, "', allowed: up, down, nearest");
  settings.rounding = *rounding;
  return settings;
}

Result<Kernel> cast_to(Prepare& p, ElementType to) {
  const Spec& x = p.in(0);
  QQ_TRY(const numeric::SmallFloatSettings settings, read_settings(p, to));
  if (x.type == to) {
    p.alias(0, 0, x.dims);
    return no_kernel();
  }
  const std::optional<ElementCast> plan = make_element_cast(x.type, to, settings);
  if (!plan) return p.cannot("casts ", name(x.type), " to ", name(to), ", allowed: numbers of 4 to 64 bits, BOOL");
  QQ_RETURN_IF_ERROR(require_plain_nibbles(p, 0));
  declare_like_input(p, 0, to);
  if (numeric::is_nibble(to)) p.scratch(static_cast<size_t>(product(x.dims)));
  return cast_kernel(*plan, x);
}

}  // namespace

Result<Kernel> prepare_cast(Prepare& p) {
  QQ_RETURN_IF_ERROR(p.require_input(0));
  const auto* to = p.node().get<int64_t>("to");
  if (to == nullptr) return p.corrupt("attribute to is missing");
  const auto type = *to < 0 || *to > 1000 ? std::nullopt : element_type_from_wire(static_cast<int32_t>(*to));
  if (!type) return p.corrupt("attribute to is ", *to, ", which is not an element type");
  return cast_to(p, *type);
}

Result<Kernel> prepare_cast_like(Prepare& p) {
  QQ_RETURN_IF_ERROR(p.require_input(0));
  QQ_RETURN_IF_ERROR(p.require_input(1));
  return cast_to(p, p.in(1).type);
}

}  // namespace quarkq::exec

// SPDX-License-Identifier: MIT
#include "exec/kernels/quantized/quant_operands.h"

#include <array>

#include "ir/quantizing_ops.h"

namespace quarkq::exec {

namespace {

Result<ParamView> read_blocks(const Prepare& p, int64_t axis, int64_t block) {
  const Spec& x = p.in(0);
  const int64_t length = x.dims[static_cast<size_t>(axis)];
  ParamView view{axis_view(x.dims, axis), block, length == 0 ? 0 : (length - 1) / block + 1, 1};
  ir::Shape wanted = x.dims;
  wanted[static_cast<size_t>(axis)] = view.blocks;
  if (p.in(1).dims != wanted) {
    return p.corrupt("scale is ", shape_text(p.in(1).dims), ", ", shape_text(wanted), " is needed for blocks of ",
                     block);
  }
  view.parameters = product(wanted);
  return view;
}

}  // namespace

Result<ParamView> read_param_view(const Prepare& p) {
  QQ_RETURN_IF_ERROR(p.require_input(0));
  QQ_RETURN_IF_ERROR(p.require_input(1));
  const Spec& x = p.in(0);
  const ir::Shape& scale = p.in(1).dims;
  const bool quark = p.node().domain != "" && p.node().domain != ir::kMicrosoftDomain;
  const int64_t block = p.node().int_or("block_size", 0);
  if (block < 0 || (quark && block != 0)) return p.corrupt("block_size is ", block, quark ? ", allowed: 0" : "");
  const int64_t count = product(scale);
  if (p.has(2) && product(p.in(2).dims) != count) {
    return p.corrupt("zero point is ", shape_text(p.in(2).dims), ", scale ", shape_text(scale));
  }
  const bool in_blocks = block > 0 && scale.size() > 1;
  if (scale.size() > 1 && !in_blocks) {
    return p.corrupt("scale is ", shape_text(scale), ", allowed: one for the tensor or for each index of an axis");
  }
  if (count == 1 && !in_blocks) return ParamView{AxisView{1, 1, product(x.dims)}, 0, 0, 1};
  QQ_TRY(const int64_t axis, p.axis(p.node().int_or("axis", quark ? 0 : 1), x.rank()));
  if (block > 0) return read_blocks(p, axis, block);
  const ParamView view{axis_view(x.dims, axis), 0, 0, count};
  if (view.axis.count != count) return p.corrupt(count, " scales for an axis of length ", view.axis.count);
  return view;
}

size_t QuantBridge::reserve(ElementType type, int64_t count) {
  const size_t offset = bytes_;
  bytes_ += (static_cast<size_t>(storage_bytes(type, count)) + 63) / 64 * 64;
  return offset;
}

Status QuantBridge::input(const Prepare& p, size_t i, ElementType wide) {
  if (!p.has(i)) return Status();
  QQ_RETURN_IF_ERROR(require_plain_packed(p, i));
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
  target_.packs = numeric::is_packed(stored);
  target_.width = bits(stored);
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
  pack_in_onnx_order(reinterpret_cast<const uint8_t*>(codes), run.out<uint8_t>(0), target_.dims, target_.layout,
                     target_.width);
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

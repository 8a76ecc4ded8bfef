// SPDX-License-Identifier: MIT
#include "exec/kernels/quantized/quant_params.h"

#include "ir/domains.h"

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

}  // namespace quarkq::exec

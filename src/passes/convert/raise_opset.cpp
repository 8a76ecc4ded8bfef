// SPDX-License-Identifier: MIT
// Q/DQ nodes exist from opset 10 on, per-channel ones and Casts to bfloat16 from 13 on. The reference writes them into
// older models, which then do not load: standard ones at once, com.microsoft ones when ONNX Runtime fuses them into
// operators of opset 10.
#include "onnx_io/opset_convert.h"
#include "passes/passes.h"

namespace quarkq::passes {

Result<Changed> raise_opset(PassContext& context) {
  const int64_t found = context.model.opset();
  const int64_t needed = context.settings.per_channel || context.settings.bf16_qdq_to_cast ? 13 : 10;
  if (found >= needed) return Changed::kNo;
  QQ_TRY(ir::Model raised,
         onnx_io::convert_opset(context.model, needed).context(cat("raising the opset from ", found)));
  raised.path = context.model.path;
  context.model = std::move(raised);
  context.diagnostics.notice("opset-raised", "",
                             cat("opset ", found, " has no Q/DQ operators as needed, raised to ", needed));
  return Changed::kYes;
}

}  // namespace quarkq::passes

// SPDX-License-Identifier: MIT
// ConvertFP16ToFP32: the whole model, inputs and outputs included. The work is done on a copy, which takes the model's
// place when it is consistent.
#include "rewrite/convert/widen_halves.h"
#include "rewrite/passes.h"

namespace quarkq::rewrite {

Result<Changed> convert_fp16_to_fp32(pass::FloatContext& context) {
  QQ_TRY(WidenedHalves made, widen_halves(context.model, {}, context.diagnostics));
  if (!made.has_halves) return Changed::kNo;
  if (!made.model) {
    context.diagnostics.add("float16-not-converted", "ConvertFP16ToFP32",
                            cat(made.why_not, "; the model stays in float16"));
    return Changed::kNo;
  }
  context.model = std::move(*made.model);
  return Changed::kYes;
}

}  // namespace quarkq::rewrite

// SPDX-License-Identifier: MIT
#include "onnx_io/infer.h"
#include "onnx_io/opset_convert.h"
#include "rewrite/passes.h"

namespace quarkq::rewrite {

Result<Changed> convert_opset_version(pass::FloatContext& context) {
  const std::optional<int64_t> target = context.settings.preprocessing.convert_opset_version;
  const int64_t found = context.model.opset();
  if (!target || *target == found) return Changed::kNo;
  Result<ir::Model> converted = onnx_io::convert_opset(context.model, *target);
  if (!converted.ok()) {
    context.diagnostics.add("opset-not-converted", "ConvertOpsetVersion",
                            cat(converted.status().message(), "; the model stays at opset ", found));
    return Changed::kNo;
  }
  // Node ids are new ones, but every node carries the loaded nodes it stands for, which the selection uses.
  context.model = std::move(converted).value();
  QQ_RETURN_IF_ERROR(onnx_io::infer_types(context.model, context.diagnostics));
  context.diagnostics.add("opset-converted", "", cat("opset ", found, " becomes ", *target));
  return Changed::kYes;
}

}  // namespace quarkq::rewrite

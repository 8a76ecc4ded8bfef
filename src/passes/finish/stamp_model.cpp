// SPDX-License-Identifier: MIT
// Opset imports that every static result of the reference has (spec 02 B.3), the producer, and types for the new
// values.
#include "onnx_io/infer.h"
#include "passes/passes.h"
#include "quarkq/version.h"

namespace quarkq::passes {

Result<Changed> stamp_model(PassContext& context) {
  context.model.set_opset("com.microsoft", 1);
  context.model.set_opset("com.amd.quark", 1);
  context.model.producer_name = "quarkq";
  context.model.producer_version = version();
  QQ_RETURN_IF_ERROR(onnx_io::infer_types(context.model, context.diagnostics));
  return Changed::kYes;
}

}  // namespace quarkq::passes

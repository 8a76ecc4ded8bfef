// SPDX-License-Identifier: MIT
// The producer, names that are unique, and types for the new values.
#include "ir/unique_names.h"
#include "onnx_io/infer.h"
#include "passes/passes.h"
#include "quarkq/version.h"

namespace quarkq::passes {

Result<Changed> stamp_model(PassContext& context) {
  context.model.producer_name = "quarkq";
  context.model.producer_version = version();
  ir::make_names_unique(context.graph());
  QQ_RETURN_IF_ERROR(onnx_io::infer_types(context.model, context.diagnostics));
  return Changed::kYes;
}

}  // namespace quarkq::passes

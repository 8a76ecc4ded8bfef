// SPDX-License-Identifier: MIT
// The producer, names that are unique, and types for the new values.
#include "ir/unique_names.h"
#include "onnx_io/infer.h"
#include "qdq/passes.h"
#include "quarkq/version.h"

namespace quarkq::qdq {

Result<Changed> stamp_model(pass::QdqContext& context) {
  context.model.producer_name = "quarkq";
  context.model.producer_version = version();
  ir::make_names_unique(context.graph());
  QQ_RETURN_IF_ERROR(onnx_io::infer_types(context.model, context.diagnostics));
  return Changed::kYes;
}

}  // namespace quarkq::qdq

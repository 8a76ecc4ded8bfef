// SPDX-License-Identifier: MIT
// The producer, and types for the new values.
#include "onnx_io/infer.h"
#include "qdq/passes.h"
#include "quarkq/version.h"

namespace quarkq::qdq {

Result<Changed> stamp_model(pass::QdqContext& context) {
  context.model.producer_name = "quarkq";
  context.model.producer_version = version();
  QQ_RETURN_IF_ERROR(onnx_io::infer_types(context.model, context.diagnostics));
  return Changed::kYes;
}

}  // namespace quarkq::qdq

// SPDX-License-Identifier: MIT
#include "onnx_io/check_model.h"

#include "onnx_io/check_shapes.h"
#include "onnx_io/library.h"
#include "onnx_io/skeleton.h"

namespace quarkq::onnx_io {

Status check_model(const ir::Model& model) {
  Skeleton skeleton = make_skeleton(model);
  QQ_RETURN_IF_ERROR(library_check(skeleton.proto));
  QQ_RETURN_IF_ERROR(library_infer(skeleton.proto, Inference::kStrict));
  return check_shapes(skeleton.proto.graph());
}

}  // namespace quarkq::onnx_io

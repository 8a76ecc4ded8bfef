// SPDX-License-Identifier: MIT
#include "onnx_io/check_model.h"

#include "onnx_io/check_shapes.h"
#include "onnx_io/correct_shapes.h"
#include "onnx_io/library.h"
#include "onnx_io/skeleton.h"

namespace quarkq::onnx_io {
namespace {

Status check_types(const onnx::GraphProto& graph) {
  for (const onnx::ValueInfoProto& input : graph.input()) {
    if (input.type().value_case() == onnx::TypeProto::VALUE_NOT_SET)
      return corrupt_model("graph input '", input.name(), "' has no type; declare its element type");
  }
  for (const onnx::ValueInfoProto& output : graph.output()) {
    if (output.type().value_case() == onnx::TypeProto::VALUE_NOT_SET)
      return corrupt_model("graph output '", output.name(), "' has no type, and it does not follow from the graph");
  }
  return Status();
}

Status check_structure(onnx::ModelProto& proto) {
  QQ_RETURN_IF_ERROR(check_types(proto.graph()));
  return library_check(proto);
}

}  // namespace

Status check_model(const ir::Model& model) {
  Skeleton skeleton = make_skeleton(model);
  QQ_RETURN_IF_ERROR(check_structure(skeleton.proto));
  QQ_RETURN_IF_ERROR(library_infer(skeleton.proto, Inference::kStrict));
  return check_shapes(skeleton.proto.graph());
}

Status check_result(ir::Model& model, Diagnostics& findings) {
  Status status = check_model(model);
  if (status.ok()) return status;
  correct_shapes(model, findings);
  return check_model(model);
}

}  // namespace quarkq::onnx_io

// SPDX-License-Identifier: MIT
#include "onnx_io/text.h"

#include "onnx_io/export_graph.h"
#include "onnx_io/library.h"
#include "onnx_io/model_proto.h"

namespace quarkq::onnx_io {

Result<ir::Model> parse_model_text(const std::string& text) {
  QQ_TRY(onnx::ModelProto proto, library_parse(text));
  return import_own_model(proto);
}

std::string model_text(const ir::Model& model) { return library_print(whole_model(model)); }

}  // namespace quarkq::onnx_io

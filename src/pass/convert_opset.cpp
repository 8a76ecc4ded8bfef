// SPDX-License-Identifier: MIT
#include "pass/convert_opset.h"

#include "onnx_io/opset_convert.h"
#include "pass/output_guard.h"

namespace quarkq::pass {

Result<ir::Model> convert_opset(const ir::Model& model, int64_t target) {
  QQ_TRY(ir::Model converted, onnx_io::convert_opset(model, target));
  const Result<OutputGuard> guard = OutputGuard::on_random_sample(model, model.graph);
  if (!guard.ok()) return converted;
  const double distance = guard.value().distance(converted);
  if (distance <= guard.value().tolerance()) return converted;
  return unsupported("conversion from opset ", model.opset(), " to ", target,
                     ": the converted model computes other outputs, they differ by ", distance,
                     " of their range; convert the model with its exporter");
}

}  // namespace quarkq::pass

// SPDX-License-Identifier: MIT
#include "pipeline/quantize_run.h"

#include "onnx_io/check_model.h"

namespace quarkq::pipeline {

Status check_written(const Run& run) {
  constexpr size_t kShown = 300;  // the checker repeats itself node by node
  Status status = onnx_io::check_result(run.state.model, run.state.diagnostics);
  if (status.ok()) return status;
  const std::string found = status.message().substr(0, kShown);
  return Status(status.code(),
                cat(run.report.model_path, ": these settings give a model that ONNX does not allow at opset ",
                    run.state.model.opset(), " (", found, status.message().size() > kShown ? " ..." : "",
                    "); choose other types, raise the opset with --set ConvertOpsetVersion=21, or report this"));
}

}  // namespace quarkq::pipeline

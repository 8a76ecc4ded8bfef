// SPDX-License-Identifier: MIT
// Float models that another runtime runs as a whole. The runtime is set from outside (ort_runtime), once for the
// process, as foreign.h has it for single operators. What computes quantized models or changes weights stays here.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "ir/graph.h"

namespace quarkq::exec {

/// A model in the other runtime, ready to run.
class BackendSession {
 public:
  virtual ~BackendSession() = default;
  /// Runs one sample: a tensor per input that the graph requires, in order. The values asked for, in that order, valid
  /// until the next run. Fails when one is no tensor of numbers.
  virtual Result<const std::vector<ir::Tensor>*> run(std::span<const ir::Tensor> inputs) = 0;
};

class Backend {
 public:
  virtual ~Backend() = default;
  /// With version and place: "onnxruntime 1.23.0 (CPUExecutionProvider)".
  virtual std::string name() const = 0;
  /// `wanted`: values of the main graph, whether they are outputs or not. The model may go away before the session.
  virtual Result<std::unique_ptr<BackendSession>> open(const ir::Model& model,
                                                       const std::vector<ir::ValueId>& wanted) const = 0;
};

/// Null: float models run here, too. Set before sessions are made, and never while one runs.
inline std::shared_ptr<const Backend>& backend() {
  static std::shared_ptr<const Backend> one;
  return one;
}

}  // namespace quarkq::exec

// SPDX-License-Identifier: MIT
// Float models that another runtime runs as a whole. The runtime is set from outside (ort_runtime), once per process,
// as in foreign.h for single operators. Quantized models, and everything that changes weights, run in this executor.
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
  /// Runs one sample: a tensor per input that the graph requires, in order. Returns the requested values in order,
  /// valid until the next run. Fails if one is not a tensor of numbers.
  virtual Result<const std::vector<ir::Tensor>*> run(std::span<const ir::Tensor> inputs) = 0;
};

class Backend {
 public:
  virtual ~Backend() = default;
  /// Returns name, version and provider: "onnxruntime 1.23.0 (CPUExecutionProvider)".
  virtual std::string name() const = 0;
  /// `wanted` are values of the main graph, which need not be outputs. The model may be destroyed before the session.
  virtual Result<std::unique_ptr<BackendSession>> open(const ir::Model& model,
                                                       const std::vector<ir::ValueId>& wanted) const = 0;
};

/// Null: float models also run in this executor. Set it before sessions are created, and never while one runs.
inline std::shared_ptr<const Backend>& backend() {
  static std::shared_ptr<const Backend> one;
  return one;
}

}  // namespace quarkq::exec

// SPDX-License-Identifier: MIT
// Operators that neither quarkq nor ONNX defines: what a library of the user's computes, in another runtime. The
// runtime is set from outside (ort_runtime), once for the process, as the number of threads is.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "ir/graph.h"

namespace quarkq::exec {

/// One node, ready to run for inputs of certain types.
class ForeignNode {
 public:
  virtual ~ForeignNode() = default;
  /// The outputs of the node, in ONNX order; `inputs` has an entry per node input, null when absent. Outputs that are
  /// not requested are undefined tensors.
  virtual Result<std::vector<ir::Tensor>> run(const std::vector<const ir::Tensor*>& inputs) = 0;
  /// Types of the outputs, with the dimensions that the runtime can tell.
  virtual std::vector<ir::ValueType> output_types() const = 0;
};

class ForeignOperators {
 public:
  virtual ~ForeignOperators() = default;
  /// `types`: of the inputs, with the rank and dimensions that are known; undefined for absent ones. Fails
  /// (kUnsupported) when the runtime does not have the operator either.
  virtual Result<std::unique_ptr<ForeignNode>> prepare(const ir::Node& node,
                                                       const std::map<std::string, int64_t>& opsets,
                                                       const std::vector<ir::ValueType>& types) = 0;
};

/// What to do where an operator of `domain` has no kernel: ONNX Runtime has those of ONNX and its own, a library of the
/// user's has others.
inline const char* advice_without_kernel(const std::string& domain) {
  const bool is_of_runtime = domain.empty() || domain.starts_with("ai.onnx") || domain.starts_with("com.microsoft");
  return is_of_runtime ? "with --backend ort it runs in ONNX Runtime"
                       : "give the library that computes it, --set UserCustomOpLibPath=LIBRARY.so";
}

/// Null: there is none. Set before sessions are made, and never while one runs.
inline std::shared_ptr<ForeignOperators>& foreign_operators() {
  static std::shared_ptr<ForeignOperators> operators;
  return operators;
}

}  // namespace quarkq::exec

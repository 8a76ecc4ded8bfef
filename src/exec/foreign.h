// SPDX-License-Identifier: MIT
// Operators that neither quarkq nor ONNX defines: a library of the user computes them in another runtime. The runtime
// is set from outside (ort_runtime), once per process, like the number of threads.
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
  /// Returns the outputs of the node in ONNX order. `inputs` has an entry per node input, null if omitted. Outputs that
  /// are not requested are undefined tensors.
  virtual Result<std::vector<ir::Tensor>> run(const std::vector<const ir::Tensor*>& inputs) = 0;
  /// Returns the types of the outputs, with the dimensions known to the runtime.
  virtual std::vector<ir::ValueType> output_types() const = 0;
};

class ForeignOperators {
 public:
  virtual ~ForeignOperators() = default;
  /// `types` describe the inputs, with known rank and dimensions; undefined for omitted inputs. Fails with kUnsupported
  /// if the runtime does not have the operator either.
  virtual Result<std::unique_ptr<ForeignNode>> prepare(const ir::Node& node,
                                                       const std::map<std::string, int64_t>& opsets,
                                                       const std::vector<ir::ValueType>& types) = 0;
};

/// Returns advice for an operator of `domain` without a kernel: ONNX Runtime has the operators of ONNX and its own;
/// other operators are in a library of the user.
inline const char* advice_without_kernel(const std::string& domain) {
  const bool is_of_runtime = domain.empty() || domain.starts_with("ai.onnx") || domain.starts_with("com.microsoft");
  return is_of_runtime ? "with --backend ort it runs in ONNX Runtime"
                       : "give the library that computes it, --set UserCustomOpLibPath=LIBRARY.so";
}

/// The runtime, or null if there is none. Set it before sessions are created, and never while one runs.
inline std::shared_ptr<ForeignOperators>& foreign_operators() {
  static std::shared_ptr<ForeignOperators> operators;
  return operators;
}

}  // namespace quarkq::exec

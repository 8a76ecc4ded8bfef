// SPDX-License-Identifier: MIT
// One node of a session of ONNX Runtime: prepared by the executor's own code for each set of input shapes, then
// computed straight from ONNX Runtime's tensors into its output.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "ort_ops/operators.h"
#include "ort_ops/runtime.h"

namespace quarkq::ort_ops {

class NodeKernel {
 public:
  /// Reads name and attributes. `threads`: what one call uses. Where the model states all shapes, the node is prepared
  /// at once, so that its faults are reported when the session is made.
  static Result<std::unique_ptr<NodeKernel>> make(const OrtApi& api, const Operator& op, const Variant& variant,
                                                  int threads, const OrtKernelInfo& info);

  const OrtApi& api() const { return api_; }
  /// May be called by several threads at once.
  Status compute(OrtKernelContext* context);

 private:
  using Shapes = std::vector<std::optional<ir::Shape>>;  ///< by input; nothing where it is absent

  struct Prepared {
    Shapes shapes;
    exec::Kernel kernel;
    ir::Shape output;
    size_t scratch_bytes = 0;
    bool copies_input = false;
  };
  struct Inputs {
    Shapes shapes;
    std::vector<const std::byte*> data;
  };

  NodeKernel(const OrtApi& api, const Operator& op, const Variant& variant, int threads)
      : api_(api), op_(op), variant_(variant), threads_(threads) {}
  Status read_node(const OrtKernelInfo& info);
  Status prepare_known_shapes(const OrtKernelInfo& info);
  Result<Inputs> read_inputs(OrtKernelContext* context) const;
  Result<std::shared_ptr<const Prepared>> prepared_for(const Shapes& shapes);
  Result<std::shared_ptr<const Prepared>> prepare(const Shapes& shapes) const;

  const OrtApi& api_;
  const Operator& op_;
  Variant variant_;
  int threads_;
  ir::Node node_;
  std::string label_;                                      ///< what messages call the node
  std::mutex mutex_;                                       ///< of prepared_
  std::vector<std::shared_ptr<const Prepared>> prepared_;  ///< most recently made first
};

}  // namespace quarkq::ort_ops

// SPDX-License-Identifier: MIT
// From a stored constant to the value that a layer reads: the Q, DQ or block format nodes between them, computed as the
// model computes them.
#pragma once

#include <vector>

#include "ir/graph.h"

namespace quarkq::planning::finetune {

class ConstantChain {
 public:
  /// Fails when `value` does not come from one initializer through nodes whose other inputs are constants.
  static Result<ConstantChain> to(const ir::Model& model, ir::ValueId value);

  ir::ValueId stored() const { return stored_; }
  /// What the layer reads when `start` is stored.
  Result<ir::Tensor> run(const ir::Tensor& start) const;
  /// ... with what is stored now.
  Result<ir::Tensor> run() const { return run(*model_->graph.value(stored_).constant); }

 private:
  const ir::Model* model_ = nullptr;
  ir::ValueId stored_;
  std::vector<ir::NodeId> nodes_;  ///< in order
};

/// Changes what is stored for `read`, which a layer reads through a chain.
Status store_constant(ir::Model& model, ir::ValueId read, const ir::Tensor& tensor);

}  // namespace quarkq::planning::finetune

// SPDX-License-Identifier: MIT
// Groups: operators that a compiler places together, because no Q/DQ stands between them, and the operators of a
// quantized model that were left float.
#pragma once

#include <vector>

#include "targets/quantized_view.h"

namespace quarkq::targets {

struct Groups {
  std::vector<int> of;  ///< by node id: number of the group, -1 for nodes that are no operators
  std::vector<std::vector<ir::NodeId>> members;  ///< in execution order
  std::vector<bool> is_float;                    ///< by node id: an operator of a quantized model that was left float
  std::vector<bool> is_integer;                  ///< by node id: computes integers from integers (shapes, indices)

  const std::vector<ir::NodeId>& group_of(ir::NodeId id) const {
    return members[static_cast<size_t>(of[static_cast<size_t>(id.index)])];
  }
  bool left_float(ir::NodeId id) const { return is_float[static_cast<size_t>(id.index)]; }
  bool integer(ir::NodeId id) const { return is_integer[static_cast<size_t>(id.index)]; }
};

/// In a model with Q/DQ: chains of a few operators from DQ to Q (Conv and Relu, HardSigmoid and the Mul that rescales
/// it). In a float model judged as if quantized: an operator and the Relu or Clip that alone reads it, which a
/// quantizer would join.
Groups group_operators(const QuantizedView& view, bool as_if_quantized);

}  // namespace quarkq::targets

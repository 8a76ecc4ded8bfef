// SPDX-License-Identifier: MIT
// A node all of whose inputs are known: prepared and run at once. For constant folding and between stages.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "exec/op_def.h"

namespace quarkq::exec {

/// A node that is run at once, and the operator that runs it. REQUIRES: op.prepare is set.
struct KnownCall {
  const OpDef& op;
  const ir::Node& node;
  std::string label;
  int64_t opset = 0;
  int64_t max_memory = 0;  ///< bytes that the outputs may take; 0: what the machine has
};

/// The outputs of the node, in ONNX order; `inputs` has an entry per node input, null where it is absent. Images are
/// handed to their operators channels-last, as in a program. Nothing when the operator's prepare declines. kResource:
/// the outputs need too much memory.
Result<std::optional<std::vector<ir::Tensor>>> run_known(const KnownCall& call,
                                                         const std::vector<const ir::Tensor*>& inputs);

}  // namespace quarkq::exec

// SPDX-License-Identifier: MIT
// A node all of whose inputs are known: prepared and run at once. For constant folding and between stages.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "exec/op_def.h"

namespace quarkq::exec {

/// The outputs of `node`, in ONNX order; `inputs` has an entry per node input, null where it is absent. Images are
/// handed to their operators channels-last, as in a program. Nothing when the operator's prepare declines. kResource:
/// the outputs need more than `max_memory` bytes (0: than the machine has). REQUIRES: op.prepare is set.
Result<std::optional<std::vector<ir::Tensor>>> run_known(const OpDef& op, const ir::Node& node,
                                                         const std::string& label, int64_t opset,
                                                         const std::vector<const ir::Tensor*>& inputs,
                                                         int64_t max_memory);

}  // namespace quarkq::exec

// SPDX-License-Identifier: MIT
// Bodies of operators that ONNX defines through others (schema functions), for operators without a kernel.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "ir/operand.h"

namespace quarkq::onnx_io {

/// The body of `node` of `graph` for inputs of the types and shapes of `inputs`, which has an entry per node input that
/// is not absent and then one per capture. The body's graph inputs are those in the same order; its outputs are the
/// node's outputs that are not absent. Null when the operator has no body.
/// kUnsupported: the library cannot build it for such inputs.
Result<std::shared_ptr<const ir::Model>> function_body(const ir::Graph& graph, ir::NodeId node,
                                                       const std::map<std::string, int64_t>& opsets,
                                                       const std::vector<const ir::Operand*>& inputs);

}  // namespace quarkq::onnx_io

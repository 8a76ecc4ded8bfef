// SPDX-License-Identifier: MIT
// The onnx library's checker, for models we read and models we write.
#pragma once

#include "base/diagnostics.h"
#include "ir/graph.h"

namespace quarkq::onnx_io {

/// Runs the full check: structure, operator schemas, strict shape inference, then shapes that inference accepts
/// although no run can compute with them. Fails with kCorruptModel and the library's message, or with a message that
/// names the node. Operators of domains without schemas are accepted.
Status check_model(const ir::Model& model);

/// Runs check_model() on a model that is about to be written. First corrects stored shapes that only the rewritten
/// graph contradicts (after operators that inference does not support in the loaded graph).
Status check_result(ir::Model& model, Diagnostics& findings);

// Stored shapes are hints: if they contradict the operators, the operators are right, as in ONNX Runtime.

/// Replaces stored shapes of inner values and outputs that contradict the graph, and adds types of outputs that the
/// model does not declare. Graph inputs do not change. Changes nothing if the model is sound, if the operators
/// themselves contradict each other (check_model() reports that), or if it has more than 200,000 nodes.
void correct_shapes(ir::Model& model, Diagnostics& findings);

}  // namespace quarkq::onnx_io

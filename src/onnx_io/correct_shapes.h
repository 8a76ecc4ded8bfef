// SPDX-License-Identifier: MIT
// Stored shapes are hints: where they contradict the operators, the operators are right, as in ONNX Runtime. Private to
// src/onnx_io.
#pragma once

#include "base/diagnostics.h"
#include "ir/graph.h"

namespace quarkq::onnx_io {

/// Replaces stored shapes of inner values and outputs that contradict what the graph computes, and adds types of
/// outputs that the model does not declare. Graph inputs stay as they are. Changes nothing if the model is sound, or if
/// the operators themselves contradict each other (check_model() reports that), or if it has more than 200,000 nodes.
void correct_shapes(ir::Model& model, Diagnostics& findings);

}  // namespace quarkq::onnx_io

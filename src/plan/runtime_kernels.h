// SPDX-License-Identifier: MIT
// Operators on 8-bit integers that ONNX Runtime lacks (ref:writing#runtime-kernels). Its optimizer moves a node between
// a DQ and a Q onto integers without looking whether it has the kernel, or moves Transposes across it, and then fails
// while loading or running. tests/e2e/test_runtime_kernels.py finds such nodes; every fact about them is a row of this
// table.
#pragma once

#include <vector>

#include "ir/graph.h"

namespace quarkq::plan {

struct KernelLimit {
  const char* op;
  /// The operator takes 8-bit integers from this ai.onnx opset on; 1: from the first on that has Q and DQ.
  int64_t since = 1;
  /// Whether ONNX Runtime fails on the node, whatever the opset; null: on no node.
  bool (*fails)(const ir::Node& node) = nullptr;
  const char* reason = "";  ///< "AveragePool with dilations"
};

const std::vector<KernelLimit>& kernel_limits();

/// The ai.onnx opset from which the node's operator takes 8-bit integers.
int64_t byte_kernel_since(const ir::Node& node);

/// Returns the row that makes ONNX Runtime fail on the node between Q and DQ, or null if there is none.
const KernelLimit* missing_kernel(const ir::Node& node);

}  // namespace quarkq::plan

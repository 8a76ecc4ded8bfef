// SPDX-License-Identifier: MIT
// Operators on 8-bit integers that ONNX Runtime does not support (ref:writing#runtime-kernels). Its optimizer moves a
// node between a DQ and a Q to integers without checking for a kernel, or moves Transposes across it, and then fails
// while loading or running. tests/e2e/test_runtime_kernels.py finds such nodes; every known case is a row of this
// table.
#pragma once

#include <vector>

#include "ir/graph.h"

namespace quarkq::plan {

struct KernelLimit {
  const char* op;
  /// First ai.onnx opset in which the operator accepts 8-bit integers; 1: every opset with Q and DQ.
  int64_t since = 1;
  /// Returns whether ONNX Runtime fails on the node in every opset; null: it fails on no node.
  bool (*fails)(const ir::Node& node) = nullptr;
  const char* reason = "";  ///< "AveragePool with dilations"
};

const std::vector<KernelLimit>& kernel_limits();

/// Returns the first ai.onnx opset in which the node's operator accepts 8-bit integers.
int64_t byte_kernel_since(const ir::Node& node);

/// Returns the row that makes ONNX Runtime fail on the node between Q and DQ, or null if there is none.
const KernelLimit* missing_kernel(const ir::Node& node);

}  // namespace quarkq::plan

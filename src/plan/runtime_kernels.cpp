// SPDX-License-Identifier: MIT
// Found with ONNX Runtime 1.32 on the CPU, default optimizations.
#include "plan/runtime_kernels.h"

#include <algorithm>

namespace quarkq::plan {
namespace {

bool is_dilated(const ir::Node& node) {
  return std::ranges::any_of(node.ints_or("dilations", {}), [](int64_t size) { return size != 1; });
}

bool has_pad_axes(const ir::Node& node) { return node.input(3).valid(); }

bool has_resize_axes(const ir::Node& node) { return node.find("axes") != nullptr; }

}  // namespace

const std::vector<KernelLimit>& kernel_limits() {
  static const std::vector<KernelLimit> kLimits = {
      {.op = "AveragePool", .fails = is_dilated, .reason = "AveragePool with dilations"},
      {.op = "DepthToSpace", .since = 11},
      {.op = "Pad", .fails = has_pad_axes, .reason = "Pad with axes"},
      {.op = "ReduceMax", .since = 12},
      {.op = "ReduceMin", .since = 12},
      {.op = "Resize", .fails = has_resize_axes, .reason = "Resize with axes"},
  };
  return kLimits;
}

int64_t byte_kernel_since(const ir::Node& node) {
  int64_t since = 1;
  for (const KernelLimit& row : kernel_limits()) {
    if (node.is(row.op)) since = std::max(since, row.since);
  }
  return since;
}

const KernelLimit* missing_kernel(const ir::Node& node) {
  for (const KernelLimit& row : kernel_limits()) {
    if (node.is(row.op) && row.fails != nullptr && row.fails(node)) return &row;
  }
  return nullptr;
}

}  // namespace quarkq::plan

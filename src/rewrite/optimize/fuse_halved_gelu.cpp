// SPDX-License-Identifier: MIT
// The one spelling of Gelu that ONNX Runtime's basic level knows becomes the standard operator (ref:rewrites#gelu).
#include "rewrite/gelu_group.h"
#include "rewrite/optimize/steps.h"

namespace quarkq::rewrite::basic {
namespace {

Proposal fuse_gelu_at(Workspace& work, const ir::Node& root) {
  const auto found = match_halved_gelu(work.graph(), root);
  if (!found) return std::optional<ir::GraphPatch>();
  ir::GraphPatch patch;
  replace_group(patch, found->group, {"Gelu", "", work.new_node_name("Gelu"), {found->x}, {}, {}});
  return std::optional(std::move(patch));
}

}  // namespace

Result<bool> fuse_halved_gelu(Workspace& work) {
  const WorkspaceRule rules[] = {fuse_gelu_at};
  return work.opset() < kFirstGeluOpset ? Result<bool>(false) : work.sweep(rules);
}

}  // namespace quarkq::rewrite::basic

// SPDX-License-Identifier: MIT
// ONNX Runtime's basic level makes LayerNormalization, too (ref:rewrites#basic-optimizer).
#include "rewrite/layer_norm_group.h"
#include "rewrite/optimize/steps.h"

namespace quarkq::rewrite::basic {
namespace {

Proposal fuse_layer_norm_at(Workspace& work, const ir::Node& root) {
  const std::optional<LayerNormGroup> found = match_layer_norm(work.graph(), root);
  if (!found) return std::optional<ir::GraphPatch>();
  const std::string name = work.new_node_name(work.node(found->scaling).name + "/LayerNormFusion/");
  ir::GraphPatch patch;
  replace_group(patch, found->group, found->node(name));
  return std::optional(std::move(patch));
}

}  // namespace

Result<bool> fuse_spelled_layer_norm(Workspace& work) {
  const WorkspaceRule rules[] = {fuse_layer_norm_at};
  return work.opset() < kFirstLayerNormOpset ? Result<bool>(false) : work.sweep(rules);
}

}  // namespace quarkq::rewrite::basic

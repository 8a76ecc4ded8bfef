// SPDX-License-Identifier: MIT
// The one spelling of Gelu that ONNX Runtime's basic level knows becomes the standard operator (spec 04 A.7.4).
#include "rewrite/gelu_group.h"
#include "rewrite/optimize/steps.h"

namespace quarkq::rewrite::basic {

Result<bool> fuse_halved_gelu(Workspace& work) {
  if (work.opset() < kFirstGeluOpset) return false;
  bool changed = false;
  for (const ir::NodeId id : work.visiting_order()) {
    if (!work.graph().is_alive(id)) continue;
    const auto found = match_halved_gelu(work.graph(), work.node(id));
    if (!found) continue;
    replace_group(work.model().graph, found->group, {"Gelu", "", work.new_node_name("Gelu"), {found->x}, {}});
    changed = true;
  }
  return changed;
}

}  // namespace quarkq::rewrite::basic

// SPDX-License-Identifier: MIT
// The steps of the basic optimizer. Each answers whether it changed something.
#pragma once

#include "base/error.h"
#include "rewrite/optimize/workspace.h"

namespace quarkq::rewrite::basic {

Result<bool> apply_local_rules(Workspace& work);
Result<bool> merge_same_nodes(Workspace& work);
Result<bool> fold_known_nodes(Workspace& work);
Result<bool> fuse_matmul_add(Workspace& work);
Result<bool> fuse_halved_gelu(Workspace& work);
Result<bool> fuse_spelled_layer_norm(Workspace& work);
Result<bool> fuse_space_to_depth(Workspace& work);
Result<bool> fuse_reshapes(Workspace& work);
Result<bool> move_transposes(Workspace& work);
/// Last, once: operators that ONNX Runtime has no kernel for become what they are defined by.
Result<bool> inline_operators(Workspace& work);

}  // namespace quarkq::rewrite::basic

// SPDX-License-Identifier: MIT
// GroupNormalization, which ONNX Runtime has no kernel for, as the operators of its definition.
#pragma once

#include "rewrite/optimize/workspace.h"

namespace quarkq::rewrite::basic {

/// True when `node` was one and is gone. Only in compat mode: thirty operators with a pair between each two are worse
/// than one.
bool inline_group_norm(Workspace& work, ir::NodeId node);

}  // namespace quarkq::rewrite::basic

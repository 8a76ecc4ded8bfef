// SPDX-License-Identifier: MIT
// Fusions and folds of spec 04 A.7 in the order they run. Each replaces nodes only when nobody else reads what is
// between them.
#pragma once

#include "passes/context.h"

namespace quarkq::passes {

/// Spelled-out instance normalization becomes InstanceNormalization (A.7.1).
Result<Changed> fuse_instance_norm(PassContext& context);
/// Spelled-out division by the L2 norm becomes LpNormalization (A.7.2).
Result<Changed> fuse_l2_norm(PassContext& context);
/// Spelled-out layer normalization becomes LayerNormalization, opset 17 and up (A.7.3).
Result<Changed> fuse_layer_norm(PassContext& context);
/// Gelu spelled with Erf becomes Gelu, opset 20 and up (A.7.4).
Result<Changed> fuse_gelu(PassContext& context);
/// BatchNormalization that is not quantized goes into the Gemm or ConvTranspose before it (A.7.5).
Result<Changed> fold_batch_norm(PassContext& context);
/// The same through a Concat, into each of its producers (A.7.6).
Result<Changed> fold_batch_norm_after_concat(PassContext& context);

}  // namespace quarkq::passes

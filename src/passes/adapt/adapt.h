// SPDX-License-Identifier: MIT
// Conversions into what the hardware runs well (spec 04 A.9), in the order they run, behind equalization. They act on
// selected nodes only.
#pragma once

#include "passes/context.h"

namespace quarkq::passes {

/// ReduceMean over height and width becomes GlobalAveragePool.
Result<Changed> convert_reduce_mean_to_global_avg_pool(PassContext& context);
/// A GlobalAveragePool over more than 512 values gets an AveragePool before it.
Result<Changed> split_large_kernel_pool(PassContext& context);
/// Split becomes one Slice per output.
Result<Changed> convert_split_to_slice(PassContext& context);
/// What is left of BatchNormalization becomes a depthwise Conv; BatchNormalization joins the selected op types.
Result<Changed> convert_bn_to_conv(PassContext& context);

/// Shape known to inference for an inner value. The reference does not look at graph inputs and outputs here.
bool has_inner_shape(const ir::Value& value, size_t rank);

}  // namespace quarkq::passes

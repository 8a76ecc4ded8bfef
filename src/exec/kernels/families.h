// SPDX-License-Identifier: MIT
// The operator families. Each is one list at the foot of its file; a new family adds a line here and in op_table.cpp.
#pragma once

#include <span>

#include "exec/op_def.h"

namespace quarkq::exec {

std::span<const OpDef> activation_ops();      // Relu, Clip, Sigmoid, ...: one input, one output, elementwise
std::span<const OpDef> conv_ops();            // Conv, ConvTranspose
std::span<const OpDef> elementwise_ops();     // Add, Mul, comparisons, Where, Cast: broadcasting
std::span<const OpDef> gather_scatter_ops();  // Gather, ...
std::span<const OpDef> matmul_ops();          // MatMul, Gemm
std::span<const OpDef> norm_ops();            // BatchNormalization, Softmax, ...
std::span<const OpDef> pool_ops();            // MaxPool, AveragePool, Global...
std::span<const OpDef>
quant_dequant_ops();                  // QuantizeLinear, DequantizeLinear, their com.microsoft and com.amd.quark forms
std::span<const OpDef> reduce_ops();  // ReduceMean, ArgMax, ...
std::span<const OpDef> resize_ops();  // Resize, Upsample, DepthToSpace, SpaceToDepth
std::span<const OpDef> shape_ops();   // Shape, Reshape, Transpose, Concat, Split, Slice, Pad, ...

}  // namespace quarkq::exec

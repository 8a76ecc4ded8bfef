// SPDX-License-Identifier: MIT
// The operator families. Each is one list at the foot of its file; a new family adds a line here and in op_table.cpp.
#pragma once

#include <span>

#include "exec/op_def.h"

namespace quarkq::exec {

std::span<const OpDef> activation_ops();      // Relu, Clip, Sigmoid, ...: one input, one output, elementwise
std::span<const OpDef> bitwise_ops();         // BitShift, BitwiseAnd, ...
std::span<const OpDef> conv_ops();            // Conv, ConvTranspose
std::span<const OpDef> control_flow_ops();    // If, Loop, Scan
std::span<const OpDef> detection_ops();       // NonMaxSuppression
std::span<const OpDef> einsum_ops();          // Einsum
std::span<const OpDef> elementwise_ops();     // Add, Mul, comparisons, Where, Cast: broadcasting
std::span<const OpDef> fused_ops();           // com.microsoft: BiasGelu, FastGelu, FusedMatMul
std::span<const OpDef> gather_scatter_ops();  // Gather, ...
std::span<const OpDef> image_ops();           // AffineGrid, GridSample, RoiAlign, DeformConv, Col2Im
std::span<const OpDef> linear_algebra_ops();  // Det
std::span<const OpDef> matmul_ops();          // MatMul, Gemm
std::span<const OpDef> norm_ops();            // BatchNormalization, Softmax, ...
std::span<const OpDef> pool_ops();            // MaxPool, AveragePool, Global...
std::span<const OpDef> random_ops();          // RandomNormal, RandomUniform, Multinomial, ...
std::span<const OpDef>
quant_dequant_ops();  // QuantizeLinear, DequantizeLinear, their com.microsoft and com.amd.quark forms
std::span<const OpDef> recurrent_ops();  // RNN, GRU, LSTM, ExtendedLSTM
std::span<const OpDef> quantized_ops();  // QLinearConv, MatMulInteger, MatMulNBits, BFP and MX formats, ...
std::span<const OpDef> reduce_ops();     // ReduceMean, ArgMax, ...
std::span<const OpDef> resize_ops();     // Resize, Upsample, DepthToSpace, SpaceToDepth
std::span<const OpDef> rotary_ops();     // RotaryEmbedding
std::span<const OpDef> sequence_ops();   // SequenceAt, ..., Optional...
std::span<const OpDef> shape_ops();      // Shape, Reshape, Transpose, Concat, Split, Slice, Pad, ...
std::span<const OpDef> signal_ops();     // DFT, STFT, MelWeightMatrix
std::span<const OpDef> tfidf_ops();      // TfIdfVectorizer

Status identity_of_value(Evaluation& e);  // Identity of a sequence or an optional

}  // namespace quarkq::exec

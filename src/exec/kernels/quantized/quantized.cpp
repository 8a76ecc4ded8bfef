// SPDX-License-Identifier: MIT
// The list of operators on quantized values: integer products and convolutions, and the quantizing operators of
// com.amd.quark (ref:operators) that are no QuantizeLinear. QuantizeLinear and its kin are the quant_dequant family.
#include "exec/kernels/quantized/quantized.h"

#include "exec/op_families.h"
#include "ir/domains.h"

namespace quarkq::exec {
namespace {

using enum LayoutRule;
constexpr OpDef kQuantizedOps[] = {
    {"BFPFixNeuron", ir::kVitisDomain, 1, kFollow, prepare_bfp},
    {"BFPQuantizeDequantize", ir::kQuarkDomain, 1, kFollow, prepare_bfp},
    {"ConvInteger", "", 10, LayoutRule::kImage, prepare_conv_integer},
    {"ExtendedInstanceNormalization", ir::kQuarkDomain, 1, kPlain, prepare_extended_instance_norm},
    {"MXFixNeuron", ir::kVitisDomain, 1, kFollow, prepare_mx},
    {"MXQuantizeDequantize", ir::kQuarkDomain, 1, kFollow, prepare_mx},
    {"MatMulInteger", "", 10, kPlain, prepare_matmul_integer},
    {"MatMulNBits", ir::kMicrosoftDomain, 1, kPlain, prepare_matmul_nbits},
    {"QGemm", ir::kMicrosoftDomain, 1, kPlain, prepare_qgemm},
    {"QLinearAdd", ir::kMicrosoftDomain, 1, LayoutRule::kBroadcast, prepare_qlinear_add},
    {"QLinearConv", "", 10, LayoutRule::kImage, prepare_qlinear_conv},
    {"QLinearMatMul", "", 10, kPlain, prepare_qlinear_matmul},
    {"QLinearMul", ir::kMicrosoftDomain, 1, LayoutRule::kBroadcast, prepare_qlinear_mul},
    {"VitisInstanceNormalization", ir::kVitisDomain, 1, kPlain, prepare_extended_instance_norm},
};

}  // namespace

std::span<const OpDef> quantized_ops() { return kQuantizedOps; }

}  // namespace quarkq::exec

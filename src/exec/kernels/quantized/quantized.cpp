// SPDX-License-Identifier: MIT
// The list of operators on quantized values: integer products and convolutions, and the quantizing operators of
// com.amd.quark (spec 02 D) that are no QuantizeLinear. QuantizeLinear and its kin are the quant_dequant family.
#include "exec/kernels/quantized/quantized.h"

#include "exec/kernels/families.h"

namespace quarkq::exec {
namespace {

constexpr std::string_view kMicrosoft = "com.microsoft";
constexpr std::string_view kQuark = "com.amd.quark";
constexpr std::string_view kVitis = "com.vai.quantize";  // what files of before 0.8 say for com.amd.quark

constexpr LayoutRule kPlain = LayoutRule::kPlain, kFollow = LayoutRule::kFollow;
constexpr OpDef kOps[] = {
    {"BFPFixNeuron", kVitis, 1, kFollow, prepare_bfp},
    {"BFPQuantizeDequantize", kQuark, 1, kFollow, prepare_bfp},
    {"ConvInteger", "", 10, LayoutRule::kImage, prepare_conv_integer},
    {"ExtendedInstanceNormalization", kQuark, 1, kPlain, prepare_extended_instance_norm},
    {"MXFixNeuron", kVitis, 1, kFollow, prepare_mx},
    {"MXQuantizeDequantize", kQuark, 1, kFollow, prepare_mx},
    {"MatMulInteger", "", 10, kPlain, prepare_matmul_integer},
    {"MatMulNBits", kMicrosoft, 1, kPlain, prepare_matmul_nbits},
    {"QGemm", kMicrosoft, 1, kPlain, prepare_qgemm},
    {"QLinearAdd", kMicrosoft, 1, LayoutRule::kBroadcast, prepare_qlinear_add},
    {"QLinearConv", "", 10, LayoutRule::kImage, prepare_qlinear_conv},
    {"QLinearMatMul", "", 10, kPlain, prepare_qlinear_matmul},
    {"QLinearMul", kMicrosoft, 1, LayoutRule::kBroadcast, prepare_qlinear_mul},
    {"VitisInstanceNormalization", kVitis, 1, kPlain, prepare_extended_instance_norm},
};

}  // namespace

std::span<const OpDef> quantized_ops() { return kOps; }

}  // namespace quarkq::exec

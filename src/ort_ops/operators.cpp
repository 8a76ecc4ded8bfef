// SPDX-License-Identifier: MIT
#include "ort_ops/operators.h"

#include <algorithm>

#include "exec/kernels/quantized/quant_dequant.h"
#include "exec/kernels/quantized/quantized.h"
#include "exec/kernels/recurrent/recurrent.h"
#include "ir/domains.h"
#include "ir/quantizing_ops.h"

namespace quarkq::ort_ops {
namespace {

constexpr AttributeKind kInt = AttributeKind::kInt, kFloat = AttributeKind::kFloat, kString = AttributeKind::kString;

// What an operator does not take is listed where the executor refuses it by name: a silent default would be worse.
constexpr AttributeRow kQuantizeAttributes[] = {
    {"axis", kInt}, {"block_size", kInt}, {"output_dtype", kInt}, {"precision", kInt}};
constexpr AttributeRow kBfpAttributes[] = {{"bfp_method", kString},
                                           {"axis", kInt},
                                           {"bit_width", kInt},
                                           {"block_size", kInt},
                                           {"rounding_mode", kInt},
                                           {"sub_block_size", kInt},
                                           {"sub_block_shift_bits", kInt},
                                           {"convert_to_bfloat_before_bfp", kInt},
                                           {"use_compiler_version_cpu_kernel", kInt}};
constexpr AttributeRow kMxAttributes[] = {
    {"element_dtype", kString}, {"axis", kInt}, {"block_size", kInt}, {"rounding_mode", kInt}};
constexpr AttributeRow kNormAttributes[] = {{"epsilon", kFloat}};
constexpr AttributeRow kLstmAttributes[] = {{"hidden_size", kInt},  {"layout", kInt},       {"input_forget", kInt},
                                            {"x_scale", kFloat},    {"x_zero_point", kInt}, {"w_scale", kFloat},
                                            {"w_zero_point", kInt}, {"r_scale", kFloat},    {"r_zero_point", kInt},
                                            {"b_scale", kFloat},    {"b_zero_point", kInt}, {"y_scale", kFloat},
                                            {"y_zero_point", kInt}};

constexpr Operator kOperators[] = {
    {ir::kQuarkDomain, "BFPQuantizeDequantize", Signature::kConvert, kBfpAttributes, exec::prepare_bfp},
    {ir::kQuarkDomain, "ExtendedDequantizeLinear", Signature::kDequantize, kQuantizeAttributes,
     exec::prepare_dequantize},
    {ir::kQuarkDomain, "ExtendedInstanceNormalization", Signature::kNormalize, kNormAttributes,
     exec::prepare_extended_instance_norm},
    {ir::kQuarkDomain, "ExtendedLSTM", Signature::kLstm, kLstmAttributes, exec::prepare_extended_lstm},
    {ir::kQuarkDomain, "ExtendedQuantizeLinear", Signature::kQuantize, kQuantizeAttributes, exec::prepare_quantize},
    {ir::kQuarkDomain, "MXQuantizeDequantize", Signature::kConvert, kMxAttributes, exec::prepare_mx},
    {ir::kVitisDomain, "BFPFixNeuron", Signature::kConvert, kBfpAttributes, exec::prepare_bfp},
    {ir::kVitisDomain, "MXFixNeuron", Signature::kConvert, kMxAttributes, exec::prepare_mx},
    {ir::kVitisDomain, "VitisDequantizeLinear", Signature::kDequantize, kQuantizeAttributes, exec::prepare_dequantize},
    {ir::kVitisDomain, "VitisInstanceNormalization", Signature::kNormalize, kNormAttributes,
     exec::prepare_extended_instance_norm},
    {ir::kVitisDomain, "VitisQuantizeLinear", Signature::kQuantize, kQuantizeAttributes, exec::prepare_quantize},
};

constexpr ir::QuantizingPart part_of(Signature signature) {
  if (signature == Signature::kQuantize) return ir::QuantizingPart::kQuantize;
  if (signature == Signature::kDequantize) return ir::QuantizingPart::kDequantize;
  return signature == Signature::kConvert ? ir::QuantizingPart::kBoth : ir::QuantizingPart::kNone;
}
static_assert(std::ranges::all_of(kOperators,
                                  [](const Operator& op) {
                                    return ir::quantizing_part(op.name) == part_of(op.signature);
                                  }),
              "an operator is missing in ir/quantizing_ops.h");

constexpr ElementType kReals[] = {ElementType::kFloat, ElementType::kFloat16};
constexpr ElementType kCodes[] = {ElementType::kInt8,    ElementType::kUInt8,   ElementType::kInt16,
                                  ElementType::kUInt16,  ElementType::kInt32,   ElementType::kUInt32,
                                  ElementType::kFloat16, ElementType::kBFloat16};

struct SignatureRow {
  size_t inputs;
  bool has_codes, has_reals, keeps_shape;
};
constexpr SignatureRow kSignatures[] = {
    {3, true, true, true},     // kQuantize
    {3, true, true, true},     // kDequantize
    {1, false, true, true},    // kConvert
    {3, false, false, true},   // kNormalize
    {4, false, false, false},  // kLstm
};

const SignatureRow& row(Signature signature) { return kSignatures[static_cast<size_t>(signature)]; }

}  // namespace

std::span<const Operator> operators() { return kOperators; }

std::vector<Variant> variants(Signature signature) {
  std::vector<Variant> all;
  for (const ElementType real : kReals) {
    if (real != ElementType::kFloat && !row(signature).has_reals) continue;
    if (!row(signature).has_codes) all.push_back({real, real});
    for (const ElementType code : kCodes) {
      if (row(signature).has_codes) all.push_back({real, code});
    }
  }
  return all;
}

size_t input_count(Signature signature) { return row(signature).inputs; }

ElementType input_type(Signature signature, const Variant& variant, size_t input) {
  if (signature == Signature::kQuantize) return input == 2 ? variant.code : variant.real;
  if (signature == Signature::kDequantize) return input == 1 ? variant.real : variant.code;
  return variant.real;
}

std::optional<size_t> input_with_output_type(Signature signature) {
  if (signature == Signature::kDequantize) return std::nullopt;
  return signature == Signature::kQuantize ? 2 : 0;
}

ElementType output_type(Signature signature, const Variant& variant) {
  const auto input = input_with_output_type(signature);
  return input ? input_type(signature, variant, *input) : ElementType::kFloat;
}

bool keeps_shape(Signature signature) { return row(signature).keeps_shape; }

}  // namespace quarkq::ort_ops

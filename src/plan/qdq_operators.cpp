// SPDX-License-Identifier: MIT
#include "plan/qdq_operators.h"

#include <algorithm>

#include "ir/qdq_nodes.h"
#include "plan/data_types.h"

namespace quarkq::plan {
namespace {

constexpr int64_t kFirstOpsetWith16Bits = 21;

bool is_wide(config::DataType type) { return bits(element_type(type)) == 16; }

/// Types that QuantizeLinear and DequantizeLinear take, in com.microsoft or (4 bits) ai.onnx; all others are ours.
bool is_common_type(ElementType type) {
  constexpr ElementType kCommon[] = {ElementType::kInt4,  ElementType::kUInt4, ElementType::kInt8,
                                     ElementType::kUInt8, ElementType::kInt16, ElementType::kUInt16};
  return std::find(std::begin(kCommon), std::end(kCommon), type) != std::end(kCommon);
}

}  // namespace

QdqOperators::QdqOperators(const config::Settings& settings, int64_t opset) {
  using config::DomainPolicy;
  const DomainPolicy policy = settings.traits().domains;
  by_type_ = policy == DomainPolicy::kContrib;
  prefers_standard_ = settings.legalize.qdq_in_ai_onnx.value_or(false);
  keeps_valid_ = settings.quirk(config::Quirk::kKeepQdqValid) && policy != DomainPolicy::kAlwaysStandard;
  has_16_bits_ = opset >= kFirstOpsetWith16Bits;
  if (settings.formats.use_qdq_contrib_ops) domain_ = ir::kMicrosoftDomain;
  if (policy != DomainPolicy::kStandard) return;
  const bool wide = is_wide(settings.formats.activation_type) || is_wide(settings.formats.weight_type);
  const bool is_integer_type =
      !config::is_half(settings.formats.activation_type) && !config::is_half(settings.formats.weight_type);
  if (wide && is_integer_type && opset < kFirstOpsetWith16Bits) domain_ = ir::kMicrosoftDomain;
  stored_domain_ = domain_;
}

/// Mixed precision leaves bytes to the standard operators (ref:mixed-precision#promotion), and 4 bits are theirs since
/// opset 21.
std::string QdqOperators::domain_of(const Stage& stage) const {
  const int width = bits(stage.spec.type);
  if (prefers_standard_ && (width != 16 || has_16_bits_)) return "";
  if (keeps_valid_ && width == 16 && !has_16_bits_) return ir::kMicrosoftDomain;
  if (!by_type_ && !stage.is_mixed) return stage.kind == StageKind::kStored ? stored_domain_ : domain_;
  return width == 4 || (stage.is_mixed && width == 8) ? "" : ir::kMicrosoftDomain;
}

OperatorName QdqOperators::quantize(const Stage& stage) const {
  const bool is_standard = (!by_type_ && !stage.is_mixed) || is_common_type(stage.spec.type);
  if (is_standard) return {"QuantizeLinear", domain_of(stage)};
  return {"ExtendedQuantizeLinear", ir::kQuarkDomain};
}

OperatorName QdqOperators::dequantize(const Stage& stage, bool zero_at_zero) const {
  const ElementType type = stage.spec.type;
  const bool is_standard =
      (!by_type_ && !stage.is_mixed) || is_common_type(type) || (type == ElementType::kInt32 && zero_at_zero);
  if (is_standard) return {"DequantizeLinear", domain_of(stage)};
  return {"ExtendedDequantizeLinear", ir::kQuarkDomain};
}

bool QdqOperators::is_standard(const Stage& stage) const {
  return quantize(stage).op == "QuantizeLinear" && dequantize(stage, /*zero_at_zero=*/false).op == "DequantizeLinear";
}

}  // namespace quarkq::plan

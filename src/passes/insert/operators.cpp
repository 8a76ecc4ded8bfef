// SPDX-License-Identifier: MIT
#include "passes/insert/operators.h"

#include <algorithm>

#include "plan/flavors.h"

namespace quarkq::passes {
namespace {

constexpr int64_t kFirstOpsetWith16Bits = 21;

bool is_wide(config::DataType type) { return bits(plan::element_type(type)) == 16; }

/// Types that QuantizeLinear and DequantizeLinear take, in com.microsoft or (4 bits) ai.onnx; all others are ours.
bool is_common_type(ElementType type) {
  constexpr ElementType kTypes[] = {ElementType::kInt4,  ElementType::kUInt4, ElementType::kInt8,
                                    ElementType::kUInt8, ElementType::kInt16, ElementType::kUInt16};
  return std::find(std::begin(kTypes), std::end(kTypes), type) != std::end(kTypes);
}

/// Mixed precision leaves bytes to the standard operators (spec 04 F.4), and 4 bits are theirs since opset 21.
const char* domain_of(const plan::Stage& stage) {
  const int width = bits(stage.spec.type);
  return width == 4 || (stage.is_mixed && width == 8) ? "" : kMicrosoftDomain;
}

}  // namespace

QdqOperators::QdqOperators(const PassContext& context) {
  const config::Settings& settings = context.settings;
  const plan::DomainPolicy policy = plan::flavor_of(settings.quantizer).domains;
  by_type_ = policy == plan::DomainPolicy::kContrib;
  if (settings.use_qdq_contrib_ops) domain_ = kMicrosoftDomain;
  if (policy != plan::DomainPolicy::kStandard) return;
  const bool wide = is_wide(settings.activation_type) || is_wide(settings.weight_type);
  const bool is_integer_type = !config::is_half(settings.activation_type) && !config::is_half(settings.weight_type);
  if (wide && is_integer_type && context.model.opset() < kFirstOpsetWith16Bits) domain_ = kMicrosoftDomain;
  stored_domain_ = domain_;
}

OperatorName QdqOperators::quantize(const plan::Stage& stage) const {
  const ElementType type = stage.spec.type;
  if (!by_type_ && !stage.is_mixed) return {"QuantizeLinear", domain_};
  if (is_common_type(type)) return {"QuantizeLinear", domain_of(stage)};
  return {"ExtendedQuantizeLinear", kQuarkDomain};
}

OperatorName QdqOperators::dequantize(const plan::Stage& stage, bool zero_at_zero) const {
  const ElementType type = stage.spec.type;
  const bool is_stored = stage.kind == plan::StageKind::kStored;
  if (!by_type_ && !stage.is_mixed) return {"DequantizeLinear", is_stored ? stored_domain_ : domain_};
  if (is_common_type(type) || (type == ElementType::kInt32 && zero_at_zero))
    return {"DequantizeLinear", domain_of(stage)};
  return {"ExtendedDequantizeLinear", kQuarkDomain};
}

}  // namespace quarkq::passes

// SPDX-License-Identifier: MIT
#include "plan/stage.h"

#include <algorithm>
#include <cctype>

#include "ir/quantizing_ops.h"
#include "numeric/block_formats.h"

namespace quarkq::plan {

namespace {

struct TypeRow {
  config::DataType type;
  ElementType element;
};
constexpr TypeRow kTypes[] = {
    {config::DataType::kInt8, ElementType::kInt8},
    {config::DataType::kUInt8, ElementType::kUInt8},
    {config::DataType::kInt16, ElementType::kInt16},
    {config::DataType::kUInt16, ElementType::kUInt16},
    {config::DataType::kInt32, ElementType::kInt32},
    {config::DataType::kUInt32, ElementType::kUInt32},
    {config::DataType::kFloat16, ElementType::kFloat16},
    {config::DataType::kBFloat16, ElementType::kBFloat16},
    {config::DataType::kFloat8E4M3Fn, ElementType::kFloat8E4M3Fn},
    {config::DataType::kInt4, ElementType::kInt4},
    {config::DataType::kUInt4, ElementType::kUInt4},
};

}  // namespace

ElementType element_type(config::DataType type) {
  for (const TypeRow& row : kTypes) {
    if (row.type == type) return row.element;
  }
  return ElementType::kUndefined;
}

numeric::ScaleKind activation_scale_kind(const config::Settings& settings) {
  if (settings.formats.int16_scale) return numeric::ScaleKind::kInt16;
  if (config::family(settings.ranges.calibrate_method) != config::Family::kPow2) return numeric::ScaleKind::kFloat;
  return settings.formats.use_power_of2_scale ? numeric::ScaleKind::kPowerOfTwo : numeric::ScaleKind::kFloat;
}

numeric::ScaleKind weight_scale_kind(const config::Settings& settings) {
  if (settings.formats.int16_scale) return numeric::ScaleKind::kInt16;
  const bool pow2 = config::family(settings.ranges.calibrate_method) == config::Family::kPow2;
  // MinMSE searches among powers of two, so its weights keep them even when UsePowerOf2Scale is off
  // (ref:scales#power-of-two-scales).
  const bool kept =
      settings.formats.use_power_of2_scale || settings.ranges.calibrate_method == config::CalibrateMethod::kMinMSE;
  return pow2 && kept ? numeric::ScaleKind::kPowerOfTwo : numeric::ScaleKind::kFloat;
}

namespace {

using Attributes = std::vector<ir::Attribute>;

Attributes bfp_defaults() {
  return {{"bfp_method", "to_bfp", {}, {}},
          {"axis", int64_t{1}, {}, {}},
          {"bit_width", int64_t{16}, {}, {}},
          {"block_size", int64_t{8}, {}, {}},
          {"rounding_mode", int64_t{0}, {}, {}},
          {"sub_block_size", int64_t{2}, {}, {}},
          {"sub_block_shift_bits", int64_t{1}, {}, {}},
          {"convert_to_bfloat_before_bfp", int64_t{0}, {}, {}}};
}

Attributes mx_defaults() {
  return {{"element_dtype", "int8", {}, {}},
          {"axis", int64_t{1}, {}, {}},
          {"block_size", int64_t{32}, {}, {}},
          {"rounding_mode", int64_t{0}, {}, {}}};
}

void set(Attributes& attributes, const std::string& name, ir::AttributeValue value) {
  const auto found = std::find_if(attributes.begin(), attributes.end(),
                                  [&](const ir::Attribute& attribute) { return attribute.name == name; });
  if (found != attributes.end()) {
    found->value = std::move(value);
  } else {
    attributes.push_back({name, std::move(value), {}, {}});
  }
}

/// Adds the attribute unless it is given. Blocks of int8 are left alone: one clipped step costs less than a doubled
/// step of all elements.
void round_scales_up(Attributes& attributes) {
  for (const ir::Attribute& attribute : attributes) {
    if (attribute.name == numeric::kRoundScaleUp) return;
    const auto* text = std::get_if<std::string>(&attribute.value);
    if (attribute.name == "element_dtype" && text != nullptr && *text == "int8") return;
  }
  attributes.push_back({numeric::kRoundScaleUp, int64_t{1}, {}, {}});
}

}  // namespace

void BlockFormat::set_axis(int64_t axis) {
  std::erase_if(attributes, [](const ir::Attribute& attribute) { return attribute.name == "axis"; });
  attributes.push_back({"axis", axis, {}, {}});
}

int64_t BlockFormat::axis() const {
  for (const ir::Attribute& attribute : attributes) {
    if (attribute.name != "axis") continue;
    if (const auto* axis = std::get_if<int64_t>(&attribute.value)) return *axis;
  }
  return 1;
}

BlockFormat block_format(config::DataType type, const std::vector<config::BlockAttribute>& given,
                         const config::Settings& settings) {
  const bool is_bfp = type == config::DataType::kBfp;
  BlockFormat format{is_bfp ? "BFPQuantizeDequantize" : "MXQuantizeDequantize",
                     is_bfp ? bfp_defaults() : mx_defaults()};
  for (const config::BlockAttribute& attribute : given) {
    if (const auto* number = std::get_if<int64_t>(&attribute.value)) set(format.attributes, attribute.name, *number);
    if (const auto* text = std::get_if<std::string>(&attribute.value)) set(format.attributes, attribute.name, *text);
  }
  if (!is_bfp && settings.quirk(config::Quirk::kRoundMxScalesUp)) round_scales_up(format.attributes);
  return format;
}

Result<BlockFormat> block_format(config::DataType type, const config::Settings& settings) {
  QQ_TRY(const std::vector<config::BlockAttribute> given, config::read_block_attributes(type, settings));
  return block_format(type, given, settings);
}

BlockFormat for_constant(BlockFormat format, int64_t rank) {
  if (rank <= 1) set(format.attributes, "axis", int64_t{0});
  if (format.op == "BFPQuantizeDequantize") set(format.attributes, "convert_to_bfloat_before_bfp", int64_t{0});
  return format;
}

std::string block_name(const std::string& op, const std::vector<ir::Attribute>& attributes) {
  constexpr int64_t kPrimeBits = 7;  // Bits of a block with sub-blocks; BFP of 13 bits is MX6.
  int64_t bit_width = 16;
  std::string element = "int8";
  bool is_prime = false;
  for (const ir::Attribute& attribute : attributes) {
    const auto* text = std::get_if<std::string>(&attribute.value);
    const auto* integer = std::get_if<int64_t>(&attribute.value);
    if (attribute.name == "bit_width" && integer != nullptr) bit_width = *integer;
    if (attribute.name == "element_dtype" && text != nullptr) element = *text;
    if (attribute.name == "bfp_method" && text != nullptr) is_prime = *text == "to_bfp_prime";
  }
  if (op.starts_with("BFP")) return is_prime ? cat("MX", bit_width - kPrimeBits) : cat("BFP", bit_width);
  for (char& letter : element) letter = static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
  return "MX" + element;
}

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

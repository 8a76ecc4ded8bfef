// SPDX-License-Identifier: MIT
#include "plan/block_format.h"

#include <algorithm>

namespace quarkq::plan {
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

BlockFormat block_format(config::DataType type, const std::vector<config::BlockAttribute>& given) {
  const bool is_bfp = type == config::DataType::kBfp;
  BlockFormat format{is_bfp ? "BFPQuantizeDequantize" : "MXQuantizeDequantize",
                     is_bfp ? bfp_defaults() : mx_defaults()};
  for (const config::BlockAttribute& attribute : given) {
    if (const auto* number = std::get_if<int64_t>(&attribute.value)) set(format.attributes, attribute.name, *number);
    if (const auto* text = std::get_if<std::string>(&attribute.value)) set(format.attributes, attribute.name, *text);
  }
  return format;
}

Result<BlockFormat> block_format(config::DataType type, const config::Settings& settings) {
  QQ_TRY(const std::vector<config::BlockAttribute> given, config::read_block_attributes(type, settings));
  return block_format(type, given);
}

BlockFormat for_constant(BlockFormat format, int64_t rank) {
  if (rank <= 1) set(format.attributes, "axis", int64_t{0});
  if (format.op == "BFPQuantizeDequantize") set(format.attributes, "convert_to_bfloat_before_bfp", int64_t{0});
  return format;
}

}  // namespace quarkq::plan

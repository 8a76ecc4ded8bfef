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

Result<ir::AttributeValue> attribute_value(const config::Node& node, const std::string& path) {
  using Kind = config::Node::Kind;
  if (node.kind() == Kind::kInt) return ir::AttributeValue(node.as_int());
  if (node.kind() == Kind::kBool) return ir::AttributeValue(static_cast<int64_t>(node.as_bool()));
  if (node.is_text()) return ir::AttributeValue(node.as_text());
  return config::wrong_kind(node, "a whole number or a text").context(path);
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

Result<BlockFormat> block_format(config::DataType type, const config::Settings& settings) {
  const bool is_bfp = type == config::DataType::kBfp;
  BlockFormat format{is_bfp ? "BFPQuantizeDequantize" : "MXQuantizeDequantize",
                     is_bfp ? bfp_defaults() : mx_defaults()};
  const config::Node& given = is_bfp ? settings.bfp_attributes.node : settings.mx_attributes.node;
  for (const config::Node::Entry& entry : given.entries()) {
    QQ_TRY(ir::AttributeValue value,
           attribute_value(entry.value, cat(is_bfp ? "BFPAttributes." : "MXAttributes.", entry.key)));
    set(format.attributes, entry.key, std::move(value));
  }
  return format;
}

BlockFormat for_constant(BlockFormat format, int64_t rank) {
  if (rank <= 1) set(format.attributes, "axis", int64_t{0});
  if (format.op == "BFPQuantizeDequantize") set(format.attributes, "convert_to_bfloat_before_bfp", int64_t{0});
  return format;
}

}  // namespace quarkq::plan

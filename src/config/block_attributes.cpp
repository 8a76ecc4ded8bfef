// SPDX-License-Identifier: MIT
#include "config/block_attributes.h"

namespace quarkq::config {
namespace {

Result<decltype(BlockAttribute::value)> attribute_value(const Node& node, const std::string& path) {
  using Value = decltype(BlockAttribute::value);
  if (node.kind() == Node::Kind::kInt) return Value(node.as_int());
  if (node.kind() == Node::Kind::kBool) return Value(static_cast<int64_t>(node.as_bool()));
  if (node.is_text()) return Value(node.as_text());
  return wrong_kind(node, "a whole number or a text").context(path);
}

}  // namespace

Result<std::vector<BlockAttribute>> read_block_attributes(DataType type, const Settings& settings) {
  const bool is_bfp = type == DataType::kBfp;
  std::vector<BlockAttribute> attributes;
  for (const Node::Entry& entry :
       (is_bfp ? settings.formats.bfp_attributes : settings.formats.mx_attributes).node.entries()) {
    QQ_TRY(auto value, attribute_value(entry.value, cat(is_bfp ? "BFPAttributes." : "MXAttributes.", entry.key)));
    attributes.push_back({entry.key, std::move(value)});
  }
  return attributes;
}

}  // namespace quarkq::config

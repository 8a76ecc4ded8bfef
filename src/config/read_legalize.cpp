// SPDX-License-Identifier: MIT
// The block "legalize:".
#include "config/read_block.h"

namespace quarkq::config {
namespace {

/// The checks of legalize.def.
template <int64_t kLeast>
Status at_least(const std::optional<int64_t>& value, const std::string& name) {
  if (!value || *value >= kLeast) return {};
  return invalid_argument(name, ": found ", *value, ", allowed is ", kLeast, " or more");
}

Status any(const std::optional<bool>&, const std::string&) { return {}; }

Status keep_float_or_cut(const std::optional<std::string>& value, const std::string& name) {
  return check_one_of(value, name, {"keep", "float", "cut"});
}

struct LegalizeKey {
  const char* name;
  Status (*read)(const Node& node, const std::string& name, LegalizeBlock& block);
};

constexpr LegalizeKey kKeys[] = {
#define LEGALIZE(member, Type, check, doc)                                        \
  {#member, [](const Node& node, const std::string& name, LegalizeBlock& block) { \
     QQ_RETURN_IF_ERROR(read_key(node, "legalize", name, block.member));          \
     return check(block.member, "legalize." + name);                              \
   }},
#include "config/legalize.def"
};

/// {<input>: [1, 3, 224, 224]}
Status read_shapes(const Node& node, std::map<std::string, std::vector<int64_t>>& shapes) {
  if (!node.is_map()) return wrong_kind(node, "a map from inputs to shapes").context("legalize.shapes");
  for (const Node::Entry& entry : node.entries()) {
    const std::string path = "legalize.shapes." + entry.key;
    QQ_TRY(std::vector<int64_t> dims, read<std::vector<int64_t>>(entry.value, path));
    for (const int64_t dim : dims) {
      if (dim < 1)
        return invalid_argument(entry.value.mark().prefix(), path, ": found ", dim, ", allowed is 1 or more");
    }
    shapes[entry.key] = std::move(dims);
  }
  return {};
}

}  // namespace

Status read_legalize(const Node& node, QuantConfig& config) {
  LegalizeBlock& block = config.legalize;
  std::vector<std::string> names = {"shapes"};
  for (const LegalizeKey& key : kKeys) names.emplace_back(key.name);
  QQ_RETURN_IF_ERROR(check_keys(node, "legalize", names));
  for (const LegalizeKey& key : kKeys) QQ_RETURN_IF_ERROR(key.read(node, key.name, block));
  const Node* shapes = node.find("shapes");
  return shapes == nullptr || shapes->is_null() ? Status() : read_shapes(*shapes, block.shapes);
}

}  // namespace quarkq::config

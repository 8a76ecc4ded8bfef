// SPDX-License-Identifier: MIT
// The block "legalize:".
#include "config/read_block.h"

namespace quarkq::config {
namespace {

struct LegalizeKey {
  const char* name;
  const char* allowed;
  Status (*read)(const Node& node, const std::string& name, LegalizeBlock& block);
};

constexpr LegalizeKey kKeys[] = {
#define LEGALIZE(member, Type, allowed, doc)                                               \
  {#member, allowed, [](const Node& node, const std::string& name, LegalizeBlock& block) { \
     return read_key(node, "legalize", name, block.member);                                \
   }},
#include "config/legalize.def"
};

Status check_least(const std::optional<int64_t>& value, const char* name, int64_t least) {
  if (!value || *value >= least) return {};
  return invalid_argument("legalize.", name, ": found ", *value, ", allowed is ", least, " or more");
}

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
  QQ_RETURN_IF_ERROR(check_least(block.opset, "opset", 1));
  QQ_RETURN_IF_ERROR(check_least(block.most_opset, "most_opset", 1));
  QQ_RETURN_IF_ERROR(check_least(block.batch, "batch", 1));
  QQ_RETURN_IF_ERROR(check_least(block.most_rank, "most_rank", 3));
  const Node* shapes = node.find("shapes");
  return shapes == nullptr || shapes->is_null() ? Status() : read_shapes(*shapes, block.shapes);
}

}  // namespace quarkq::config

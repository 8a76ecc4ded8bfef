// SPDX-License-Identifier: MIT
// Nodes with the same operator, attributes and inputs become one: the first in visiting order.
#include <algorithm>
#include <map>
#include <type_traits>

#include "base/hash.h"
#include "rewrite/computed_nodes.h"
#include "rewrite/optimize/workspace.h"

namespace quarkq::rewrite::basic {
namespace {

template <typename T>
void add_number(ContentHash& hash, const T& number) {
  hash.add(&number, sizeof number);
}

void add_tensor(ContentHash& hash, const ir::Tensor& tensor) {
  add_number(hash, tensor.type());
  add_number(hash, tensor.dims().size());
  for (const int64_t dim : tensor.dims()) add_number(hash, dim);
  if (tensor.type() != ElementType::kString) return hash.add(tensor.raw(), static_cast<size_t>(tensor.bytes()));
  for (const std::string& text : tensor.strings()) hash.add(text);
}

/// False for kinds that are not compared.
bool add_value(ContentHash& hash, const ir::AttributeValue& value) {
  add_number(hash, value.index());
  return std::visit(
      [&](const auto& content) {
        using T = std::decay_t<decltype(content)>;
        if constexpr (std::is_arithmetic_v<T>) {
          add_number(hash, content);
        } else if constexpr (std::is_same_v<T, std::string>) {
          hash.add(content);
        } else if constexpr (std::is_same_v<T, ir::Tensor>) {
          add_tensor(hash, content);
        } else if constexpr (std::is_same_v<T, std::vector<int64_t>> || std::is_same_v<T, std::vector<float>>) {
          add_number(hash, content.size());
          for (const auto number : content) add_number(hash, number);
        } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
          add_number(hash, content.size());
          for (const std::string& text : content) hash.add(text);
        } else {
          return false;
        }
        return true;
      },
      value);
}

/// For each value the first one that is known to be equal.
class EqualValues {
 public:
  explicit EqualValues(size_t count) : equal_(count) {}
  ir::ValueId of(ir::ValueId value) const {
    const ir::ValueId found = value.valid() ? equal_[static_cast<size_t>(value.index)] : ir::ValueId{};
    return found.valid() ? found : value;
  }
  void set(ir::ValueId value, ir::ValueId first) { equal_[static_cast<size_t>(value.index)] = of(first); }

 private:
  std::vector<ir::ValueId> equal_;
};

/// Returns equal texts for nodes that compute the same, and an empty text for a node that is not compared.
std::string key_of(const ir::Node& node, const EqualValues& equal) {
  if (!node.domain.empty() || !node.captures.empty() || is_random(node) || node.is("Dropout")) return "";
  ContentHash hash;
  hash.add(node.op);
  add_number(hash, node.inputs.size());
  for (const ir::ValueId input : node.inputs) add_number(hash, equal.of(input).index);
  add_number(hash, node.outputs.size());
  for (const ir::ValueId output : node.outputs) add_number(hash, output.valid());
  std::map<std::string_view, const ir::Attribute*> by_name;
  for (const ir::Attribute& attribute : node.attributes) by_name[attribute.name] = &attribute;
  for (const auto& [name, attribute] : by_name) {
    hash.add(name);
    if (!attribute->reference.empty() || !add_value(hash, attribute->value)) return "";
  }
  return hash.text();
}

bool makes_output(const Workspace& work, const ir::Node& node) {
  return std::any_of(node.outputs.begin(), node.outputs.end(),
                     [&](ir::ValueId output) { return work.is_graph_output(output); });
}

}  // namespace

Result<bool> merge_same_nodes(Workspace& work) {
  EqualValues equal(work.graph().value_count());
  std::map<std::string, ir::NodeId> first;
  const auto merge_into_first = [&](Workspace&, const ir::Node& node) -> Proposal {
    const std::string key = key_of(node, equal);
    if (key.empty()) return std::optional<ir::GraphPatch>();
    const auto [known, is_new] = first.try_emplace(key, node.id);
    if (is_new) return std::optional<ir::GraphPatch>();
    const std::vector<ir::ValueId>& heirs = work.node(known->second).outputs;
    ir::GraphPatch patch;
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      if (!node.outputs[i].valid()) continue;
      equal.set(node.outputs[i], heirs[i]);
      patch.replace(node.outputs[i], heirs[i]);
    }
    if (makes_output(work, node)) return std::optional<ir::GraphPatch>();
    patch.add_origins(known->second, node.id);
    patch.remove(node.id);
    return std::optional(std::move(patch));
  };
  const WorkspaceRule rules[] = {merge_into_first};
  return work.sweep(rules);
}

}  // namespace quarkq::rewrite::basic

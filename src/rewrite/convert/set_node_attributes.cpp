// SPDX-License-Identifier: MIT
// Attributes that nodes have get other values of the same type.
#include <type_traits>

#include "config/rewrite_settings.h"
#include "ir/check_graph.h"
#include "ir/edit.h"
#include "ir/traversal.h"
#include "rewrite/convert/conversions.h"

namespace quarkq::rewrite {
namespace {

/// False where the attribute has another type.
bool assign_attribute(const config::AttributeUpdate& update, ir::AttributeValue& attribute) {
  const auto assign = [&](const auto& value) {
    using Kind = std::decay_t<decltype(value)>;
    if constexpr (!std::is_same_v<Kind, NoValue>) {
      if (!std::holds_alternative<Kind>(attribute)) return false;
      attribute = value;
      return true;
    } else {
      return false;
    }
  };
  return std::visit(assign, update);
}

}  // namespace

Result<size_t> set_node_attributes(pass::ConvertContext& context) {
  QQ_TRY(const auto updates, config::parse_node_updates(context.options.text("updates")));
  ir::GraphEdit edit(context.graph());
  size_t changed = 0;
  for (const config::NodeUpdate& update : updates) {
    const ir::NodeId id = ir::node_named(context.graph(), update.node);
    if (!id.valid()) return invalid_argument("updates: no node is named ", update.node);
    for (const auto& [name, value] : update.attributes) {
      const ir::Attribute* old = context.graph().node(id).find(name);
      if (old == nullptr) {
        context.leave(id, "it has no attribute " + name);
        continue;
      }
      ir::AttributeValue assigned = old->value;
      if (!assign_attribute(value, assigned)) {
        context.leave(id, cat("its attribute ", name, " is of another type than the value given"));
        continue;
      }
      edit.node(id).set(name, std::move(assigned));
      ++changed;
    }
  }
  QQ_RETURN_IF_ERROR(ir::check_attributes(context.graph(), context.model.opsets));
  return changed;
}

}  // namespace quarkq::rewrite

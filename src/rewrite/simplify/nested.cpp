// SPDX-License-Identifier: MIT
// The steps inside of nested graphs, and the replacement of an If whose condition is known by a branch.
#include <algorithm>

#include "rewrite/simplify/simplify.h"

namespace quarkq::rewrite::simplify {
namespace {

/// Constants of the outer graph by the captured value that stands for them.
std::map<ir::ValueId, ir::Tensor> captured_constants(const Scope& outer, const ir::Node& node,
                                                     const ir::Graph& nested) {
  std::map<ir::ValueId, ir::Tensor> constants;
  for (const ir::Capture& capture : node.captures) {
    const ir::ValueId inside = nested.find(capture.name);
    const ir::Tensor* constant = outer.constant(capture.outer);
    if (constant != nullptr && inside.valid() && nested.value(inside).is_captured) constants[inside] = *constant;
  }
  return constants;
}

void drop_unread_captures(ir::Graph& nested) {
  ir::GraphEdit edit(nested);
  const std::vector<ir::ValueId> captured = nested.captured();
  for (const ir::ValueId id : captured) {
    if (nested.use_count(id) > 0) continue;
    edit.unmark_captured(id);
    edit.remove_value(id);
  }
}

Status run_in(const Scope& outer, const ir::Node& node, ir::Graph& nested, Status (*step)(Scope&)) {
  Scope scope{nested, outer.opsets, outer.options, /*nested=*/true, captured_constants(outer, node, nested)};
  QQ_RETURN_IF_ERROR(step(scope));
  QQ_RETURN_IF_ERROR(for_each_nested(scope, step));
  QQ_RETURN_IF_ERROR(clean_up(scope));
  drop_unread_captures(nested);
  return Status();
}

/// Whether one of the node's nested graphs still reads what it captured as `name`.
bool is_read(const ir::Node& node, const std::string& name) {
  return std::any_of(node.attributes.begin(), node.attributes.end(), [&](const ir::Attribute& attribute) {
    const auto* nested = std::get_if<ir::GraphPtr>(&attribute.value);
    if (nested == nullptr) return false;
    const ir::ValueId inside = (*nested)->find(name);
    return inside.valid() && (*nested)->value(inside).is_captured;
  });
}

/// Replaces an If by the nodes of a branch.
class Inlining {
 public:
  Inlining(Scope& scope, ir::NodeId holder, const ir::Graph& branch, std::string suffix)
      : scope_(scope),
        graph_(scope.graph),
        edit_(scope.graph),
        holder_(holder),
        branch_(branch),
        suffix_(std::move(suffix)) {}

  void run() {
    const ir::Node holder = graph_.node(holder_);
    place_.resize(branch_.value_count());
    for (const ir::Capture& capture : holder.captures) {
      const ir::ValueId inside = branch_.find(capture.name);
      if (!inside.valid() || !branch_.value(inside).is_captured) continue;
      // Like the reference: a stored outer value becomes a tensor of the branch, with its suffix.
      const ir::Tensor* stored = scope_.constant(capture.outer);
      at(inside) =
          stored == nullptr ? capture.outer : edit_.add_initializer(scope_.name(capture.outer) + suffix_, *stored);
    }
    for (size_t i = 0; i < holder.outputs.size(); ++i) edit_.set_output(holder_, i, {});
    for (size_t i = 0; i < holder.outputs.size() && i < branch_.outputs().size(); ++i) {
      const ir::ValueId inside = branch_.outputs()[i];
      if (!at(inside).valid() && branch_.value(inside).producer.valid()) at(inside) = holder.outputs[i];
    }
    for (const ir::NodeId id : branch_.order()) add(branch_.node(id));
    for (size_t i = 0; i < holder.outputs.size() && i < branch_.outputs().size(); ++i) {
      const ir::ValueId inside = resolve(branch_.outputs()[i]);
      if (!holder.outputs[i].valid() || inside == holder.outputs[i]) continue;
      edit_.add_node(
          {"Identity", "", graph_.value(holder.outputs[i]).name, {inside}, {holder.outputs[i]}, {}, holder.origins},
          holder_);
    }
    edit_.remove_node(holder_);
  }

 private:
  ir::ValueId& at(ir::ValueId inside) { return place_[static_cast<size_t>(inside.index)]; }

  /// The value of the outer graph that a value of the branch becomes.
  ir::ValueId resolve(ir::ValueId inside) {
    if (!inside.valid()) return {};
    if (at(inside).valid()) return at(inside);
    const ir::Value& value = branch_.value(inside);
    at(inside) = edit_.add_value(value.name + suffix_, value.type);
    if (value.constant) edit_.set_constant(at(inside), *value.constant);
    return at(inside);
  }

  void add(const ir::Node& node) {
    const ir::Tensor* stored = node.is("Constant") ? branch_.constant(node.output(0)) : nullptr;
    if (stored != nullptr && !branch_.value(node.output(0)).is_output) {
      edit_.set_constant(resolve(node.output(0)), *stored);
      return;
    }
    ir::NodeSpec spec{node.op, node.domain, node.name, {}, {}, node.attributes, graph_.node(holder_).origins};
    for (const ir::ValueId input : node.inputs) spec.inputs.push_back(resolve(input));
    for (const ir::ValueId output : node.outputs) spec.outputs.push_back(resolve(output));
    std::vector<ir::Capture> captures;
    for (const ir::Capture& capture : node.captures) captures.push_back({resolve(capture.outer), capture.name});
    const ir::NodeId copy = edit_.add_node(std::move(spec), holder_);
    edit_.set_captures(copy, std::move(captures));
    edit_.node(copy).overload = node.overload;
    edit_.node(copy).extra = node.extra;
  }

  Scope& scope_;
  ir::Graph& graph_;
  ir::GraphEdit edit_;
  ir::NodeId holder_;
  const ir::Graph& branch_;
  std::string suffix_;
  std::vector<ir::ValueId> place_;  ///< Indexed by value of the branch.
};

}  // namespace

Status for_each_nested(Scope& scope, Status (*step)(Scope&)) {
  const std::vector<ir::NodeId> order = scope.graph.order();
  for (const ir::NodeId id : order) {
    ir::GraphEdit edit(scope.graph);
    bool has_graphs = false;
    for (ir::Attribute& attribute : edit.node(id).attributes) {
      auto* held = std::get_if<ir::GraphPtr>(&attribute.value);
      if (held == nullptr) continue;
      has_graphs = true;
      auto nested = std::make_shared<ir::Graph>(**held);
      QQ_RETURN_IF_ERROR(run_in(scope, scope.graph.node(id), *nested, step));
      *held = std::move(nested);
    }
    if (!has_graphs) continue;
    std::vector<ir::Capture> captures = scope.graph.node(id).captures;
    std::erase_if(captures, [&](const ir::Capture& capture) { return !is_read(scope.graph.node(id), capture.name); });
    if (captures.size() != scope.graph.node(id).captures.size()) edit.set_captures(id, std::move(captures));
  }
  return Status();
}

bool flatten_if(Scope& scope, ir::NodeId id, size_t position) {
  const ir::Node& node = scope.graph.node(id);
  const ir::Tensor* condition = node.is("If") ? scope.constant(node.input(0)) : nullptr;
  if (condition == nullptr || condition->type() != ElementType::kBool || condition->size() != 1) return false;
  const auto* held = node.get<ir::GraphPtr>(condition->data<uint8_t>()[0] != 0 ? "then_branch" : "else_branch");
  if (held == nullptr) return false;
  const ir::GraphPtr branch = *held;  // the node that holds it is removed
  Inlining(scope, id, *branch, cat("_subg_", position, "_", branch->name)).run();
  return true;
}

}  // namespace quarkq::rewrite::simplify

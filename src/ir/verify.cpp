// SPDX-License-Identifier: MIT
#include "ir/verify.h"

#include <algorithm>
#include <tuple>

#include "ir/search.h"

namespace quarkq::ir {
namespace {

class Verifier {
 public:
  explicit Verifier(const Graph& graph) : graph_(graph), reads_(graph.value_count(), 0) {}
  Status run();

 private:
  bool is_live(ValueId id) const {
    return id.valid() && static_cast<size_t>(id.index) < graph_.value_count() && graph_.is_alive(id);
  }
  Status check_order() const;
  Status check_node(const Node& node);
  Status check_nested(const Node& node, const Graph& nested) const;
  Status check_value(const Value& value) const;
  Status check_uses(const Value& value) const;
  Status check_list(const std::vector<ValueId>& list, const char* what, bool (*has_flag)(const Value&)) const;

  const Graph& graph_;
  std::vector<size_t> reads_;  ///< by value index: node inputs and captures that name it
};

Status Verifier::check_order() const {
  std::vector<bool> listed(graph_.node_count(), false);
  size_t alive = 0;
  for (size_t i = 0; i < graph_.node_count(); ++i) alive += graph_.is_alive(NodeId{static_cast<int32_t>(i)}) ? 1 : 0;
  for (const NodeId id : graph_.order()) {
    if (!id.valid() || static_cast<size_t>(id.index) >= graph_.node_count() || !graph_.is_alive(id)) {
      return internal_error("node order: lists node id ", id.index, ", which is not alive");
    }
    if (listed[static_cast<size_t>(id.index)]) return internal_error("node order: lists ", graph_.label(id), " twice");
    listed[static_cast<size_t>(id.index)] = true;
  }
  if (graph_.order().size() == alive) return Status();
  return internal_error("node order: lists ", graph_.order().size(), " nodes of ", alive, " alive");
}

Status Verifier::check_nested(const Node& node, const Graph& nested) const {
  QQ_RETURN_IF_ERROR(verify(nested));
  for (const ValueId id : nested.captured()) {
    const std::string& name = nested.value(id).name;
    const bool known = std::any_of(node.captures.begin(), node.captures.end(),
                                   [&](const Capture& capture) { return capture.name == name; });
    if (!known) return internal_error("its nested graph reads '", name, "', which it does not capture");
  }
  return Status();
}

Status Verifier::check_node(const Node& node) {
  for (const ValueId input : node.inputs) {
    if (!input.valid()) continue;
    if (!is_live(input)) return internal_error("reads value id ", input.index, ", which is not alive");
    ++reads_[static_cast<size_t>(input.index)];
  }
  for (const Capture& capture : node.captures) {
    if (!is_live(capture.outer)) {
      return internal_error("captures value id ", capture.outer.index, ", which is not alive");
    }
    ++reads_[static_cast<size_t>(capture.outer.index)];
  }
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    const ValueId output = node.outputs[i];
    if (!output.valid()) continue;
    if (!is_live(output)) return internal_error("makes value id ", output.index, ", which is not alive");
    if (graph_.value(output).producer != node.id) {
      return internal_error("makes '", graph_.value(output).name, "', which names another producer");
    }
    if (std::count(node.outputs.begin(), node.outputs.end(), output) > 1) {
      return internal_error("makes '", graph_.value(output).name, "' twice");
    }
  }
  for (const Graph* nested : nested_graphs(node)) QQ_RETURN_IF_ERROR(check_nested(node, *nested));
  return Status();
}

Status Verifier::check_uses(const Value& value) const {
  for (const Use& use : value.uses) {
    const bool alive = use.node.valid() && static_cast<size_t>(use.node.index) < graph_.node_count() &&
                       graph_.is_alive(use.node) && use.input >= 0;
    if (!alive) return internal_error("has a use by node id ", use.node.index, ", which is not alive");
    const Node& reader = graph_.node(use.node);
    const auto at = static_cast<size_t>(use.input);
    const ValueId read =
        use.is_capture ? (at < reader.captures.size() ? reader.captures[at].outer : ValueId{}) : reader.input(at);
    if (read != value.id) return internal_error("has a use by ", graph_.label(use.node), ", which does not read it");
  }
  std::vector<std::tuple<NodeId, int32_t, bool>> sorted;
  for (const Use& use : value.uses) sorted.emplace_back(use.node, use.input, use.is_capture);
  std::sort(sorted.begin(), sorted.end());
  if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end()) return internal_error("lists a use twice");
  const size_t reads = reads_[static_cast<size_t>(value.id.index)];
  if (value.uses.size() == reads) return Status();
  return internal_error("lists ", value.uses.size(), " uses, nodes read it ", reads, " times");
}

Status Verifier::check_value(const Value& value) const {
  if (value.name.empty()) return internal_error("value id ", value.id.index, " has no name");
  if (graph_.find(value.name) != value.id) return internal_error("the name leads to another value");
  QQ_RETURN_IF_ERROR(check_uses(value));
  const bool is_given = value.is_input || value.constant || value.is_captured;
  if (!value.producer.valid()) {
    const bool read = !value.uses.empty() || value.is_output;
    return read && !is_given ? internal_error("is read, but nothing defines it") : Status();
  }
  if (is_given) return internal_error("has a producer and is an input, initializer or captured value, too");
  if (static_cast<size_t>(value.producer.index) >= graph_.node_count() || !graph_.is_alive(value.producer)) {
    return internal_error("its producer, node id ", value.producer.index, ", is not alive");
  }
  const auto& made = graph_.node(value.producer).outputs;
  if (std::find(made.begin(), made.end(), value.id) != made.end()) return Status();
  return internal_error("its producer ", graph_.label(value.producer), " does not make it");
}

/// The list holds live values that carry the flag, and as many as carry it.
Status Verifier::check_list(const std::vector<ValueId>& list, const char* what, bool (*has_flag)(const Value&)) const {
  std::vector<bool> listed(graph_.value_count(), false);
  for (const ValueId id : list) {
    if (!is_live(id)) return internal_error(what, ": value id ", id.index, " is not alive");
    if (!has_flag(graph_.value(id))) {
      return internal_error(what, ": '", graph_.value(id).name, "' is not marked as one");
    }
    listed[static_cast<size_t>(id.index)] = true;
  }
  for (size_t i = 0; i < graph_.value_count(); ++i) {
    const ValueId id{static_cast<int32_t>(i)};
    if (graph_.is_alive(id) && has_flag(graph_.value(id)) && !listed[i]) {
      return internal_error(what, ": '", graph_.value(id).name, "' is marked as one, but not listed");
    }
  }
  return Status();
}

Status Verifier::run() {
  QQ_RETURN_IF_ERROR(check_order());
  for (const NodeId id : graph_.order()) {
    if (Status status = check_node(graph_.node(id)); !status.ok()) return std::move(status).context(graph_.label(id));
  }
  for (size_t i = 0; i < graph_.value_count(); ++i) {
    const ValueId id{static_cast<int32_t>(i)};
    if (!graph_.is_alive(id)) continue;
    const Value& value = graph_.value(id);
    if (Status status = check_value(value); !status.ok()) {
      return std::move(status).context(cat("value '", value.name, "'"));
    }
  }
  QQ_RETURN_IF_ERROR(check_list(graph_.inputs(), "graph inputs", [](const Value& value) { return value.is_input; }));
  QQ_RETURN_IF_ERROR(check_list(graph_.outputs(), "graph outputs", [](const Value& value) { return value.is_output; }));
  QQ_RETURN_IF_ERROR(
      check_list(graph_.initializers(), "initializers", [](const Value& value) { return value.is_initializer(); }));
  return check_list(graph_.captured(), "captured values", [](const Value& value) { return value.is_captured; });
}

}  // namespace

Status verify(const Graph& graph) { return Verifier(graph).run(); }

}  // namespace quarkq::ir

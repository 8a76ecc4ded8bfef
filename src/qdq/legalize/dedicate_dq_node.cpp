// SPDX-License-Identifier: MIT
// DedicateDQNode (ref:writing#dedicated-dq-nodes): the second and later readers of an activation get a copy of its DQ
// node.
#include <algorithm>

#include "ir/edit.h"
#include "ir/qdq_nodes.h"
#include "pass/tidy_up.h"
#include "qdq/passes.h"

namespace quarkq::qdq {
namespace {

/// Nodes that read the DQ's output, each once, in node order.
struct Readers {
  std::vector<ir::NodeId> nodes;
  bool original_is_taken = false;  ///< by a graph output or a nested graph
};

Readers readers_of(const ir::Graph& graph, ir::ValueId value, const std::vector<size_t>& place) {
  Readers readers;
  readers.original_is_taken = graph.value(value).is_output;
  for (const ir::Use& use : graph.value(value).uses) {
    if (use.is_capture) {
      readers.original_is_taken = true;
    } else {
      readers.nodes.push_back(use.node);
    }
  }
  const auto place_of = [&](ir::NodeId id) { return place[static_cast<size_t>(id.index)]; };
  std::sort(readers.nodes.begin(), readers.nodes.end(),
            [&](ir::NodeId a, ir::NodeId b) { return place_of(a) < place_of(b); });
  readers.nodes.erase(std::unique(readers.nodes.begin(), readers.nodes.end()), readers.nodes.end());
  return readers;
}

/// A copy of `node` that reads `input` first; `suffix` tells it from the original.
ir::ValueId copy_node(ir::Graph& graph, const ir::Node& node, ir::ValueId input, const std::string& suffix) {
  ir::GraphEdit edit(graph);
  const ir::Value& output = graph.value(node.output(0));
  const ir::ValueId copy = edit.add_value(output.name + suffix, output.type);
  edit.mutable_value(copy).has_info = graph.value(node.output(0)).has_info;
  ir::NodeSpec spec{node.op, node.domain, node.name.empty() ? "" : node.name + suffix, node.inputs, {copy}};
  spec.inputs[0] = input;
  spec.attributes = node.attributes;
  spec.origins = node.origins;
  edit.add_node(std::move(spec));
  return copy;
}

size_t dedicate(ir::Graph& graph, const ir::Node& dq, const std::vector<size_t>& place) {
  const ir::Node q = *graph.producer(dq.input(0));
  const Readers readers = readers_of(graph, dq.output(0), place);
  ir::GraphEdit edit(graph);
  const size_t first = readers.original_is_taken ? 0 : 1;
  for (size_t i = first; i < readers.nodes.size(); ++i) {
    const std::string suffix = cat("_", i + (readers.original_is_taken ? 1 : 0));
    // The Q of a stored tensor is copied as well, so that a compiler can fold each pair by itself.
    const bool is_stored = graph.value(q.input(0)).is_initializer();
    const ir::ValueId codes = is_stored ? copy_node(graph, q, q.input(0), suffix) : dq.input(0);
    const ir::ValueId copy = copy_node(graph, dq, codes, suffix);
    const size_t inputs = graph.node(readers.nodes[i]).inputs.size();
    for (size_t input = 0; input < inputs; ++input) {
      if (graph.node(readers.nodes[i]).input(input) == dq.output(0)) edit.set_input(readers.nodes[i], input, copy);
    }
  }
  return readers.nodes.size() > first ? readers.nodes.size() - first : 0;
}

}  // namespace

Result<Changed> dedicate_dq_node(pass::QdqContext& context) {
  ir::Graph& graph = context.graph();
  std::vector<size_t> place(graph.node_count(), 0);
  for (size_t i = 0; i < graph.order().size(); ++i) place[static_cast<size_t>(graph.order()[i].index)] = i;
  size_t copies = 0;
  for (const ir::NodeId id : std::vector<ir::NodeId>(graph.order())) {
    const ir::Node dq = graph.node(id);
    const ir::Node* q = ir::is_dq(dq) ? ir::source_of(graph, dq, 0) : nullptr;
    if (q != nullptr && ir::is_q(*q)) copies += dedicate(graph, dq, place);
  }
  if (copies > 0) context.diagnostics.add("dq-dedicated", "", cat(copies, " DQ nodes added, one per reader"));
  return pass::tidy_up(context.graph(), copies > 0 ? Changed::kYes : Changed::kNo);
}

}  // namespace quarkq::qdq

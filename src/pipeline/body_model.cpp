// SPDX-License-Identifier: MIT
#include "pipeline/body_model.h"

#include <algorithm>

#include "ir/edit.h"

namespace quarkq::pipeline {
namespace {

/// The value of the enclosing graph that is captured as `name`; invalid when there is none.
ir::ValueId captured_value(const ir::Node& node, const std::string& name) {
  const auto found = std::ranges::find(node.captures, name, &ir::Capture::name);
  return found == node.captures.end() ? ir::ValueId() : found->outer;
}

std::string label_of(const ir::Graph& graph, const ir::Node& node) {
  for (const ir::ValueId output : node.outputs) {
    if (output.valid()) return graph.value(output).name;
  }
  return node.name;
}

}  // namespace

Result<BodyModel> make_body_model(const ir::Model& enclosing, const ir::Node& node, const ir::Graph& body) {
  BodyModel made;
  made.model.graph = body;  // shares the weights
  made.model.opsets = enclosing.opsets;
  made.model.opset_order = enclosing.opset_order;
  made.model.ir_version = enclosing.ir_version;
  made.model.path = enclosing.path;
  ir::GraphEdit edit(made.model.graph);
  const std::string label = label_of(enclosing.graph, node);
  for (const ir::ValueId captured : body.captured()) {
    const std::string name = body.value(captured).name;
    const ir::ValueId outer = captured_value(node, name);
    if (!outer.valid()) return corrupt_model("the body reads ", name, ", which is not defined around it");
    if (body.value(captured).is_output) return unsupported("the body returns ", name, ", which is defined around it");
    const ir::ValueId local = edit.add_value(cat(name, "_in_", label), enclosing.graph.value(outer).type);
    if (const ir::Tensor* constant = enclosing.graph.constant(outer)) {
      edit.set_constant(local, *constant);
    } else {
      edit.add_graph_input(local);
    }
    edit.replace_uses(captured, local);
    edit.unmark_captured(captured);
    edit.remove_value(captured);
    made.stand_ins.push_back({captured, local, name});
  }
  return made;
}

ir::Graph body_of(BodyModel model) {
  ir::Graph body = std::move(model.model.graph);
  ir::GraphEdit edit(body);
  for (const StandIn& stand_in : model.stand_ins) {
    if (!body.is_alive(stand_in.local)) continue;
    if (!body.value(stand_in.local).uses.empty()) {
      const ir::ValueId captured = edit.add_value(stand_in.name, body.value(stand_in.local).type);
      edit.mark_captured(captured);
      edit.replace_uses(stand_in.local, captured);
    }
    edit.clear_constant(stand_in.local);
    edit.remove_value(stand_in.local);
  }
  return body;
}

}  // namespace quarkq::pipeline

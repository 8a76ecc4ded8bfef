// SPDX-License-Identifier: MIT
// Names and patterns of the settings become marks on node ids, before any pass renames or fuses something.
#include <algorithm>
#include <cmath>
#include <regex>

#include "passes/passes.h"
#include "plan/op_rules.h"

namespace quarkq::passes {
namespace {

using config::Selector;

std::vector<std::string> op_types_of(const ir::Graph& graph) {
  std::vector<std::string> types;
  for (const ir::NodeId id : graph.order()) types.push_back(graph.node(id).op);
  return types;
}

/// Marks the nodes that `selector` finds; returns how many.
Result<size_t> mark(const ir::Graph& graph, const Selector& selector, std::vector<bool>& marks) {
  size_t found = 0;
  auto mark_if = [&](auto matches) {
    for (const ir::NodeId id : graph.order()) {
      const std::string& name = graph.node(id).name;
      if (name.empty() || !matches(name)) continue;
      marks[static_cast<size_t>(id.index)] = true;
      ++found;
    }
  };
  if (selector.kind == Selector::Kind::kName) {
    mark_if([&](const std::string& name) { return name == selector.text; });
    return found;
  }
  if (selector.kind == Selector::Kind::kSubgraph) {
    return unsupported("exclude: subgraphs are known, not supported yet; list the nodes by name or pattern");
  }
  try {
    const std::regex pattern(selector.text, std::regex::ECMAScript);
    mark_if([&](const std::string& name) { return std::regex_search(name, pattern); });
  } catch (const std::regex_error& error) {
    return invalid_argument("exclude: pattern '", selector.text, "' is malformed, ", error.what());
  }
  return found;
}

Status exclude_by_selectors(PassContext& context) {
  size_t patterns = 0, matched = 0;
  for (const Selector& selector : context.settings.exclude_selectors) {
    QQ_TRY(const size_t found, mark(context.graph(), selector, context.selection.excluded));
    if (selector.kind == Selector::Kind::kPattern) {
      ++patterns;
      matched += found;
    } else if (found == 0) {
      context.diagnostics.warn("exclude-unknown", selector.text, "no node has this name, the entry has no effect");
    }
  }
  if (patterns > 0 && matched == 0) {
    return invalid_argument("exclude: no node matches any of the ", patterns, " patterns given");
  }
  return Status();
}

/// Readers of a scalar infinity stay float (spec 01 E.1 step 23): one range with it leaves nothing of the other values.
void exclude_infinite_scalars(const ir::Graph& graph, std::vector<bool>& excluded) {
  for (const ir::ValueId id : graph.initializers()) {
    const ir::Tensor& tensor = *graph.value(id).constant;
    if (tensor.rank() != 0 || tensor.type() != ElementType::kFloat || !std::isinf(tensor.data<float>()[0])) continue;
    for (const ir::Use& use : graph.value(id).uses) excluded[static_cast<size_t>(use.node.index)] = true;
  }
}

void exclude_by_type(PassContext& context) {
  const auto& types = context.settings.exclude_op_types;
  for (const ir::NodeId id : context.graph().order()) {
    const ir::Node& node = context.graph().node(id);
    const bool by_type = std::find(types.begin(), types.end(), node.op) != types.end();
    const bool product_of_activations = context.settings.matmul_const_b_only && node.is("MatMul") &&
                                        !context.graph().value(node.input(1)).is_initializer();
    if (by_type || product_of_activations) context.selection.excluded[static_cast<size_t>(id.index)] = true;
  }
}

}  // namespace

Result<Changed> select_nodes(PassContext& context) {
  const ir::Graph& graph = context.graph();
  context.selection.op_types = plan::op_set(context.settings, op_types_of(graph));
  context.selection.excluded.assign(graph.node_count(), false);
  QQ_RETURN_IF_ERROR(exclude_by_selectors(context));
  exclude_by_type(context);
  exclude_infinite_scalars(graph, context.selection.excluded);
  if (!context.settings.nodes_to_quantize.empty()) {
    context.selection.included.assign(graph.node_count(), false);
    for (const std::string& name : context.settings.nodes_to_quantize) {
      Selector selector;
      selector.text = name;
      QQ_TRY(const size_t found, mark(graph, selector, context.selection.included));
      if (found == 0) context.diagnostics.warn("include-unknown", name, "NodesToQuantize: no node has this name");
    }
  }
  return Changed::kNo;
}

}  // namespace quarkq::passes

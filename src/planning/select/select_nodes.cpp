// SPDX-License-Identifier: MIT
// Names and patterns of the settings become marks on node ids, before any pass renames or fuses something.
#include <algorithm>
#include <cmath>
#include <deque>
#include <set>

#include "config/mixed_precision.h"
#include "ir/parts.h"
#include "plan/op_rules.h"
#include "planning/passes.h"
#include "planning/select/selectors.h"

namespace quarkq::planning {

namespace {

std::vector<std::string> op_types_of(const ir::Graph& graph) {
  std::vector<std::string> types;
  for (const ir::NodeId id : graph.order()) types.push_back(graph.node(id).op);
  return types;
}

/// Readers of a scalar infinity stay float (ref:settings#infinite-constants): one range for it would leave no codes for
/// the other values.
void exclude_infinite_scalars(const ir::Graph& graph, plan::NodeMarks& excluded) {
  for (const ir::ValueId id : graph.initializers()) {
    const ir::Tensor& tensor = *graph.value(id).constant;
    if (tensor.rank() != 0 || tensor.type() != ElementType::kFloat || !std::isinf(tensor.data<float>()[0])) continue;
    for (const ir::Use& use : graph.value(id).uses) excluded.add(graph.node(use.node));
  }
}

void exclude_by_type(pass::SelectContext& context) {
  const auto& types = context.settings.exclude_op_types;
  for (const ir::NodeId id : context.graph().order()) {
    const ir::Node& node = context.graph().node(id);
    const bool by_type = std::find(types.begin(), types.end(), node.op) != types.end();
    const bool product_of_activations = context.settings.selection.matmul_const_b_only && node.is("MatMul") &&
                                        !context.graph().value(node.input(1)).is_initializer();
    if (by_type || product_of_activations) context.selection.excluded.add(node);
  }
}

/// legalize.tail=float.
void exclude_tail(pass::SelectContext& context) {
  const ir::Tail tail = ir::find_tail(context.graph());
  if (tail.nodes.empty()) return;
  for (const ir::NodeId id : tail.nodes) context.selection.excluded.add(context.graph().node(id));
  context.diagnostics.add("tail-float", "legalize.tail",
                          cat(tail.nodes.size(), " nodes after the last layers stay float"));
}

/// Reads nodes_to_quantize. In compat mode unknown names are ignored, and a list of only unknown names includes no
/// node, which an empty set would not express.
Status include_nodes(pass::SelectContext& context) {
  std::vector<config::Selector> included;
  for (const std::string& name : context.settings.selection.nodes_to_quantize) {
    included.push_back({config::Selector::Kind::kName, name, {}, {}});
  }
  plan::NodeMarks& marks = context.selection.included;
  QQ_RETURN_IF_ERROR(mark_nodes(context, included, "nodes_to_quantize", marks));
  if (included.empty() || !marks.empty() || context.graph().node_count() == 0) return Status();
  ir::Node nobody;  // marks by name contain no node without one
  nobody.id = ir::NodeId{0};
  marks.add(nobody);
  return Status();
}

/// The layer configs, types first: what comes later wins (ref:settings#layer-settings).
Status choose_layers(pass::SelectContext& context, bool by_name) {
  const ir::Graph& graph = context.graph();
  for (const auto* rules : {&context.settings.layer_types, &context.settings.specific_layers}) {
    for (const config::LayerRule& rule : *rules) {
      plan::LayerChoice choice{*rule.config, plan::NodeMarks(graph, by_name)};
      QQ_RETURN_IF_ERROR(mark_nodes(context, rule.layers, "specific_layer_config", choice.nodes));
      for (const ir::NodeId id : graph.order()) {
        const auto& types = rule.op_types;
        if (std::find(types.begin(), types.end(), graph.node(id).op) != types.end()) choice.nodes.add(graph.node(id));
      }
      for (const ir::NodeId id : graph.order()) {
        if (choice.nodes.contains(graph.node(id))) context.selection.layered.add(graph.node(id));
      }
      context.selection.layers.push_back(std::move(choice));
    }
  }
  return Status();
}

/// The tensors that the layers mean, by the names they have now.
void name_overrides(pass::SelectContext& context) {
  const ir::Graph& graph = context.graph();
  for (const ir::NodeId id : graph.order()) {
    for (const plan::LayerChoice& layer : context.selection.layers) {
      if (!layer.nodes.contains(graph.node(id))) continue;
      plan::for_each_tensor(graph, graph.node(id), layer.spec, [&](ir::ValueId value, const config::TensorSpec& spec) {
        context.selection.named_overrides.emplace_back(graph.value(value).name, config::override_of(spec));
      });
    }
  }
  context.selection.layers.clear();
}

}  // namespace

Result<Changed> select_nodes(pass::SelectContext& context) {
  const ir::Graph& graph = context.graph();
  const bool by_name = !context.settings.quirk(config::Quirk::kNodesKeepOrigins);
  plan::Selection& selection = context.selection;
  selection.op_types = plan::op_set(context.settings, op_types_of(graph));
  selection.excluded = selection.included = selection.layered = plan::NodeMarks(graph, by_name);
  QQ_RETURN_IF_ERROR(mark_nodes(context, context.settings.exclude_selectors, "exclude", selection.excluded));
  QQ_RETURN_IF_ERROR(exclude_outside_range(context, selection.excluded));
  exclude_by_type(context);
  exclude_infinite_scalars(graph, selection.excluded);
  if (context.settings.keeps_tail_float()) exclude_tail(context);
  QQ_RETURN_IF_ERROR(include_nodes(context));
  if (context.settings.packs_matrices() && !context.settings.quirk(config::Quirk::kExcludeFromEmitters)) {
    selection.excluded = selection.included = {};
  }
  QQ_RETURN_IF_ERROR(choose_layers(context, by_name));
  QQ_RETURN_IF_ERROR(mark_groups(context, by_name));
  if (by_name) name_overrides(context);
  return Changed::kNo;
}

// Groups of nodes that automatic mixed precision promotes together (ref:mixed-precision#options).

namespace {

using config::NodeGroup;

/// The nodes that any of the names means; an unknown one is an error.
Result<std::set<ir::NodeId>> nodes_of(const pass::SelectContext& context, const std::vector<std::string>& names,
                                      const std::string& what) {
  std::set<ir::NodeId> found;
  for (const std::string& name : names) {
    const std::vector<ir::NodeId> meant = nodes_meant(context.graph(), name, context.settings);
    if (meant.empty())
      QQ_RETURN_IF_ERROR(unknown_name(context.graph(), name, what, context.settings, context.diagnostics));
    found.insert(meant.begin(), meant.end());
  }
  return found;
}

/// Every node that the walk from the starts over outputs reaches; it ends at the ends.
Result<std::set<ir::NodeId>> walk(const pass::SelectContext& context, const NodeGroup& group) {
  const ir::Graph& graph = context.graph();
  const std::string what = "SubgraphJson: subgraph " + group.name;
  QQ_TRY(const std::set<ir::NodeId> ends, nodes_of(context, group.ends, what));
  QQ_TRY(const std::set<ir::NodeId> starts, nodes_of(context, group.starts, what));
  std::set<ir::NodeId> reached;
  std::deque<ir::NodeId> open(starts.begin(), starts.end());
  while (!open.empty()) {
    const ir::NodeId id = open.front();
    open.pop_front();
    if (!reached.insert(id).second || ends.contains(id)) continue;
    for (const ir::ValueId output : graph.node(id).outputs) {
      if (!output.valid()) continue;
      for (const ir::Use& use : graph.value(output).uses) {
        if (!use.is_capture) open.push_back(use.node);
      }
    }
  }
  reached.insert(ends.begin(), ends.end());
  return reached;
}

}  // namespace

Status mark_groups(pass::SelectContext& context, bool by_name) {
  if (!context.settings.algorithms.include_auto_mp) return Status();
  QQ_TRY(const std::optional<config::MixedSettings> options, config::read_mixed_settings(context.settings));
  if (!options || options->subgraph_file.empty()) return Status();
  QQ_TRY(const std::vector<NodeGroup> groups, config::load_subgraphs(options->subgraph_file));
  const ir::Graph& graph = context.graph();
  std::set<ir::NodeId> taken;
  for (const NodeGroup& group : groups) {
    QQ_TRY(const std::set<ir::NodeId> reached, walk(context, group));
    plan::PromotionGroup marked{group.name, plan::NodeMarks(graph, by_name)};
    for (const ir::NodeId id : reached) {
      if (taken.insert(id).second) marked.nodes.add(graph.node(id));
    }
    context.selection.promotion_groups.push_back(std::move(marked));
  }
  return Status();
}

}  // namespace quarkq::planning

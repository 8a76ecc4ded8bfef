// SPDX-License-Identifier: MIT
// Evaluates nodes whose inputs are all known, with the executor's own kernels; the results become initializers named
// like the node's outputs (ref:rewrites#simplifier).
#include "exec/compile.h"
#include "rewrite/computed_nodes.h"
#include "rewrite/driver.h"
#include "rewrite/passes.h"

namespace quarkq::rewrite {
namespace {

bool may_fold(const ir::Node& node) { return !stays_computed(node) && node.domain.empty() && node.captures.empty(); }

/// Inputs as constants, or nothing when one is not known.
std::optional<std::vector<const ir::Tensor*>> constants_of(const ir::Graph& graph, const ir::Node& node) {
  std::vector<const ir::Tensor*> inputs;
  for (const ir::ValueId input : node.inputs) {
    inputs.push_back(graph.constant(input));
    if (input.valid() && (inputs.back() == nullptr || graph.value(input).is_input)) return std::nullopt;
  }
  return inputs;
}

}  // namespace

Result<Changed> fold_constants(pass::FloatContext& context) {
  const auto& opsets = context.model.opsets;
  return run_rule(context, "fold-constants",
                  [&](const ir::Graph& graph, const ir::Node& node) -> Result<std::optional<ir::GraphPatch>> {
                    if (!may_fold(node)) return std::optional<ir::GraphPatch>();
                    const auto inputs = constants_of(graph, node);
                    if (!inputs) return std::optional<ir::GraphPatch>();
                    QQ_TRY(const std::vector<ir::Tensor> results, exec::evaluate_node(graph, opsets, node.id, *inputs));
                    if (results.empty()) return std::optional<ir::GraphPatch>();
                    ir::GraphPatch patch;
                    for (size_t i = 0; i < node.outputs.size(); ++i) {
                      if (!node.outputs[i].valid()) continue;
                      // A graph output stays computed: files whose outputs are initializers are refused by many
                      // readers.
                      if (graph.value(node.outputs[i]).is_output) return std::optional<ir::GraphPatch>();
                      patch.replace(node.outputs[i], patch.initializer(graph.value(node.outputs[i]).name, results[i]));
                    }
                    patch.remove(node.id);
                    return std::optional<ir::GraphPatch>(std::move(patch));
                  });
}

}  // namespace quarkq::rewrite

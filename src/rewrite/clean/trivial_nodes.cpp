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

// Identity, and Dropout whose mask nothing reads: both pass their input on at inference time.

namespace {

bool passes_input_on(const ir::Graph& graph, const ir::Node& node) {
  if (node.is("Identity")) return true;
  if (!node.is("Dropout") || graph.use_count(node.output(1)) > 0) return false;
  const ir::Tensor* training = graph.constant(node.input(2));
  return !node.input(2).valid() || (training != nullptr && training->type() == ElementType::kBool &&
                                    training->size() == 1 && training->data<uint8_t>()[0] == 0);
}

}  // namespace

Result<Changed> remove_no_ops(pass::FloatContext& context) {
  return run_rule(context, "remove-no-ops",
                  [](const ir::Graph& graph, const ir::Node& node) -> Result<std::optional<ir::GraphPatch>> {
                    if (!passes_input_on(graph, node) || !node.input(0).valid() || !node.output(0).valid())
                      return std::optional<ir::GraphPatch>();
                    const ir::Value& input = graph.value(node.input(0));
                    const bool is_output = graph.value(node.output(0)).is_output;
                    // An output must keep a producer of its own, so only an inner value may take an output's place.
                    if (is_output && (!input.producer.valid() || input.is_output))
                      return std::optional<ir::GraphPatch>();
                    ir::GraphPatch patch;
                    patch.replace(node.output(0), node.input(0));
                    patch.remove(node.id);
                    // Scripts know the tensor by the name it had after the node (ref:rewrites#simplifier), unless the
                    // outside knows the other one.
                    if (input.producer.valid() && !input.is_input && !input.is_output)
                      patch.rename(node.input(0), graph.value(node.output(0)).name);
                    return std::optional<ir::GraphPatch>(std::move(patch));
                  });
}

}  // namespace quarkq::rewrite

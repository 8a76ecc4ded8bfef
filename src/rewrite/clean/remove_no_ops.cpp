// SPDX-License-Identifier: MIT
// Identity, and Dropout whose mask nothing reads: both pass their input on at inference time.
#include "rewrite/driver.h"
#include "rewrite/passes.h"

namespace quarkq::rewrite {
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

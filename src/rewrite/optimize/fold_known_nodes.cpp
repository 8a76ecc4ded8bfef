// SPDX-License-Identifier: MIT
// Nodes whose inputs are constants are computed now; so is the Shape of what has a static shape.
#include <algorithm>

#include "exec/compile.h"
#include "rewrite/computed_nodes.h"
#include "rewrite/optimize/workspace.h"

namespace quarkq::rewrite::basic {
namespace {

bool may_fold(const Workspace& work, const ir::Node& node) {
  if (stays_computed(node) || !node.domain.empty() || !node.captures.empty()) return false;
  // A graph output stays computed: files whose outputs are initializers are refused by many readers.
  return std::none_of(node.outputs.begin(), node.outputs.end(),
                      [&](ir::ValueId output) { return work.is_graph_output(output); });
}

/// The result of a Shape that needs no data.
std::optional<ir::Tensor> known_shape(const Workspace& work, const ir::Node& node) {
  if (!node.is("Shape") || !node.input(0).valid()) return std::nullopt;
  const ir::ValueType& type = work.graph().value(node.inputs[0]).type;
  if (!type.is_static()) return std::nullopt;
  const ir::Shape dims = type.shape();
  const auto rank = static_cast<int64_t>(dims.size());
  const auto clamp = [&](int64_t place) { return std::clamp<int64_t>(place < 0 ? place + rank : place, 0, rank); };
  const int64_t start = clamp(node.int_or("start", 0)), end = std::max(start, clamp(node.int_or("end", rank)));
  const std::vector<int64_t> part(dims.begin() + start, dims.begin() + end);
  return ir::Tensor::from({end - start}, part);
}

Result<std::vector<ir::Tensor>> known_results(Workspace& work, const ir::Node& node) {
  if (std::optional<ir::Tensor> shape = known_shape(work, node)) return std::vector<ir::Tensor>{*std::move(shape)};
  std::vector<const ir::Tensor*> inputs;
  for (const ir::ValueId input : node.inputs) {
    inputs.push_back(work.constant(input));
    if (input.valid() && inputs.back() == nullptr) return std::vector<ir::Tensor>{};
  }
  return exec::evaluate_node(work.graph(), work.model().opsets, node.id, inputs);
}

Proposal fold_known(Workspace& work, const ir::Node& node) {
  if (!may_fold(work, node)) return std::optional<ir::GraphPatch>();
  QQ_TRY(const std::vector<ir::Tensor> results, known_results(work, node));
  if (results.empty()) return std::optional<ir::GraphPatch>();
  ir::GraphPatch patch;
  patch.remove(node.id);
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i].valid()) patch.set_constant(node.outputs[i], results[i]);
  }
  return std::optional(std::move(patch));
}

}  // namespace

Result<bool> fold_known_nodes(Workspace& work) {
  const WorkspaceRule rules[] = {fold_known};
  return work.sweep(rules);
}

}  // namespace quarkq::rewrite::basic

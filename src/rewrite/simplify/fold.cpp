// SPDX-License-Identifier: MIT
// Constant folding: Constant nodes, nodes whose inputs are all known, and shapes whose dimensions are known.
#include <algorithm>

#include "exec/compile.h"
#include "rewrite/computed_nodes.h"
#include "rewrite/simplify/operands.h"
#include "rewrite/simplify/simplify.h"

namespace quarkq::rewrite::simplify {
namespace {

/// The transposed view of an embedding table that is looked up, too: storing it would double the table.
bool transposes_embedding(const ir::Graph& graph, const ir::Node& node) {
  if (!node.is("Transpose") || !node.input(0).valid()) return false;
  const std::vector<ir::Use>& uses = graph.value(node.input(0)).uses;
  return uses.size() == 2 && std::any_of(uses.begin(), uses.end(), [&](const ir::Use& use) {
           return !use.is_capture && use.input == 0 && graph.node(use.node).is("Gather");
         });
}

bool makes_output(const ir::Graph& graph, const ir::Node& node) {
  return std::any_of(node.outputs.begin(), node.outputs.end(),
                     [&](ir::ValueId id) { return id.valid() && graph.value(id).is_output; });
}

/// The results of a node with known inputs; empty when it cannot or may not be folded.
std::vector<ir::Tensor> evaluate(const Scope& scope, const ir::Node& node) {
  if (!node.domain.empty() || !node.captures.empty()) return {};
  if (node.is("Constant")) {
    const ir::Tensor* held = scope.graph.constant(node.output(0));
    return held == nullptr ? std::vector<ir::Tensor>() : std::vector<ir::Tensor>{*held};
  }
  if (stays_computed(node) || node.is("SequenceEmpty")) return {};  // the latter makes no tensor
  std::vector<const ir::Tensor*> inputs;
  for (const ir::ValueId input : node.inputs) {
    inputs.push_back(scope.constant(input));
    if (input.valid() && inputs.back() == nullptr) return {};
  }
  if (transposes_embedding(scope.graph, node)) return {};
  Result<std::vector<ir::Tensor>> results = exec::evaluate_node(scope.graph, scope.opsets, node.id, inputs);
  if (!results.ok()) return {};  // an invalid node is reported when the model runs
  return std::move(results).value();
}

std::vector<ir::Dim> dims_of_shape(const Scope& scope, const ir::Node& shape) {
  const ir::ValueType& type = scope.graph.value(shape.input(0)).type;
  if (!type.has_shape) return {};
  const auto [start, end] = kept_dims(shape, static_cast<int64_t>(type.dims.size()));
  return {type.dims.begin() + start, type.dims.begin() + end};
}

std::optional<std::vector<int64_t>> picked_dims(const std::vector<ir::Dim>& dims, const std::vector<int64_t>& picks) {
  std::vector<int64_t> sizes;
  for (const int64_t pick : picks) {
    const auto count = static_cast<int64_t>(dims.size());
    const int64_t place = pick < 0 ? pick + count : pick;
    if (place < 0 || place >= count || !dims[static_cast<size_t>(place)].known()) return std::nullopt;
    sizes.push_back(dims[static_cast<size_t>(place)].size);
  }
  return sizes;
}

/// The value of Shape, Shape -> Gather or Shape -> Slice as far as dimensions are known.
std::optional<ir::Tensor> known_shape(const Scope& scope, const ir::Node& node) {
  const ir::Node* shape = node.is("Shape") ? &node : scope.graph.producer(node.input(0));
  if (shape == nullptr || !shape->is("Shape") || !shape->input(0).valid()) return std::nullopt;
  const std::vector<ir::Dim> dims = dims_of_shape(scope, *shape);
  const auto count = static_cast<int64_t>(dims.size());
  if (dims.empty()) return std::nullopt;
  std::vector<int64_t> picks;
  ir::Shape result_dims = {count};
  if (node.is("Shape")) {
    for (int64_t i = 0; i < count; ++i) picks.push_back(i);
  } else if (node.is("Gather")) {
    const auto indices = scope.integers(node.input(1));
    if (!indices) return std::nullopt;
    picks = *indices;
    result_dims = scope.constant(node.input(1))->dims();
  } else if (node.is("Slice")) {
    const auto kept = kept_range(scope, node, count);
    if (!kept) return std::nullopt;
    for (int64_t i = kept->first; i < kept->second; ++i) picks.push_back(i);
    result_dims = {static_cast<int64_t>(picks.size())};
  } else {
    return std::nullopt;
  }
  const auto sizes = picked_dims(dims, picks);
  if (!sizes) return std::nullopt;
  return ir::Tensor::from<int64_t>(result_dims, *sizes);
}

}  // namespace

Status fold_constants(Scope& scope) {
  ir::GraphEdit edit(scope.graph);
  const std::vector<ir::NodeId> order = scope.graph.order();
  for (size_t position = 0; position < order.size(); ++position) {
    const ir::NodeId id = order[position];
    if (flatten_if(scope, id, position)) continue;
    const ir::Node& node = scope.graph.node(id);
    // A graph output stays computed: files whose outputs are initializers are refused by many readers.
    if (makes_output(scope.graph, node)) continue;
    std::vector<ir::Tensor> results = evaluate(scope, node);
    if (results.empty()) {
      if (std::optional<ir::Tensor> shape = known_shape(scope, node)) results.push_back(std::move(*shape));
    }
    if (results.size() < node.outputs.size()) continue;
    const bool too_large = std::any_of(results.begin(), results.end(), [&](const ir::Tensor& result) {
      return scope.options.size_threshold && result.bytes() > *scope.options.size_threshold;
    });
    if (too_large && !node.is("Constant")) continue;
    const std::vector<ir::ValueId> outputs = node.outputs;
    edit.remove_node(id);
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (outputs[i].valid()) edit.set_constant(outputs[i], std::move(results[i]));
    }
  }
  return Status();
}

}  // namespace quarkq::rewrite::simplify

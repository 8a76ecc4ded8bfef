// SPDX-License-Identifier: MIT
// Reshape to a high rank, Transpose, Reshape back (shuffled channels, pixel shuffle, windows of attention) becomes the
// same on few axes, for compilers that take tensors of a low rank only.
#include <algorithm>

#include "ir/shape.h"
#include "rewrite/driver.h"
#include "rewrite/hardware/axis_moves.h"
#include "rewrite/passes.h"

namespace quarkq::rewrite {
namespace {

constexpr int64_t kReshapeWithInput = 5;  // the first opset where the shape is an input

/// Views and Transposes one after the other, whose inner values are of a high rank and have no other reader.
struct Chain {
  ir::ValueId input;
  std::vector<ir::NodeId> nodes;  ///< the first one first
  AxisPath path;
};

/// Puts `node` in front of the chain; false when it does not belong there. `output`: shape of what it makes.
bool put_in_front(const ir::Graph& graph, const ir::Node& node, const ir::Shape& output, Chain& chain) {
  const std::optional<ir::Shape> input = element_shape(graph, node.input(0));
  if (!input || ir::checked_count(*input) != ir::checked_count(output)) return false;
  std::vector<Reordering>& list = chain.path.reorderings;
  if (node.is("Transpose")) {
    const std::optional<Reordering> own = reordering_of(node, *input);
    if (!own || basic::permuted(*input, own->permutation) != output) return false;
    const bool follows = !chain.nodes.empty() && graph.node(chain.nodes.front()).is("Transpose");
    if (follows) {
      list.front() = {*input, basic::compose(own->permutation, list.front().permutation)};
    } else {
      list.insert(list.begin(), *own);
    }
  } else if (!is_view(node)) {
    return false;
  }
  chain.nodes.insert(chain.nodes.begin(), node.id);
  chain.input = node.input(0);
  chain.path.from = *input;
  return true;
}

/// The chain that ends at the view `end`, from a tensor of at most `most_rank` dimensions to another one.
std::optional<Chain> chain_to(const ir::Graph& graph, const ir::Node& end, size_t most_rank) {
  std::optional<ir::Shape> shape = is_view(end) ? element_shape(graph, end.output(0)) : std::nullopt;
  if (!shape || shape->size() > most_rank) return std::nullopt;
  Chain chain;
  chain.path.to = *shape;
  for (const ir::Node* node = &end; put_in_front(graph, *node, *shape, chain);) {
    shape = chain.path.from;
    if (shape->size() <= most_rank) return chain.nodes.size() > 1 ? std::optional(chain) : std::nullopt;
    node = graph.sole_use(chain.input) ? graph.producer(chain.input) : nullptr;
    if (node == nullptr) return std::nullopt;
  }
  return std::nullopt;
}

std::optional<ir::GraphPatch> merge(const ir::Graph& graph, const ir::Node& end, size_t most_rank) {
  const std::optional<Chain> chain = chain_to(graph, end, most_rank);
  if (!chain) return std::nullopt;
  std::optional<std::vector<AxisMove>> moves = plan_moves(chain->path, most_rank);
  if (!moves) return std::nullopt;
  if (moves->empty()) moves->push_back({{}, chain->path.to});
  const ir::Value& output = graph.value(end.output(0));
  ir::GraphPatch patch;
  for (const ir::NodeId id : chain->nodes) patch.remove(id);
  add_moves(patch, chain->input, *moves, {output.name, output.type.element, output.id, end.name});
  return patch;
}

}  // namespace

Result<Changed> merge_transposed_axes(pass::FloatContext& context) {
  if (context.model.opset() < kReshapeWithInput) return Changed::kNo;
  const auto most_rank = static_cast<size_t>(context.settings.legalize.most_rank.value_or(ir::kMaxRank));
  return run_rule(context, "merge-transposed-axes", [&](const ir::Graph& graph, const ir::Node& node) -> Proposal {
    return merge(graph, node, most_rank);
  });
}

}  // namespace quarkq::rewrite

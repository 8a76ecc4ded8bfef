// SPDX-License-Identifier: MIT
// x / sqrt(max(sum of x^2, epsilon)) becomes LpNormalization with p = 2 (ref:rewrites#l2-normalization); differs for
// tiny norms only.
#include "ir/arguments.h"
#include "pass/tidy_up.h"
#include "rewrite/driver.h"
#include "rewrite/fuse_group.h"
#include "rewrite/passes.h"

namespace quarkq::rewrite {
namespace {

using ir::Graph;
using ir::Node;

constexpr double kLargestNormEpsilon = 1e-4;  // above it the limit would be part of the function

struct L2Norm {
  ir::ValueId data;
  int64_t axis = -1;
  int64_t rank = 0;
};

/// Mul(U, Reciprocal(Sqrt(Max(ReduceSum(Mul(U, U)), epsilon)))), U made by Unsqueeze.
std::optional<L2Norm> match_l2_norm(const Graph& graph, MatchedGroup& group, const Node& root) {
  const Node* reciprocal = root.is("Mul") ? group.producer(root.input(1), "Reciprocal") : nullptr;
  const Node* norm = reciprocal == nullptr ? nullptr : group.producer(reciprocal->input(0), "Sqrt");
  const Node* limited = norm == nullptr ? nullptr : group.producer(norm->input(0), "Max");
  const Node* sum = limited == nullptr ? nullptr : group.producer(limited->input(0), "ReduceSum");
  const Node* square = sum == nullptr ? nullptr : group.producer(sum->input(0), "Mul");
  if (square == nullptr || square->input(0) != square->input(1) || square->input(0) != root.input(0))
    return std::nullopt;
  const Node* source = graph.producer(root.input(0));
  const ir::ValueType& type = graph.value(root.input(0)).type;
  const std::optional<double> epsilon = scalar(graph, limited->input(1));
  const auto axes = ir::integers_of(graph, *sum, 1, "axes");
  if (source == nullptr || !source->is("Unsqueeze") || !type.has_shape || limited->inputs.size() != 2)
    return std::nullopt;
  if (!epsilon || *epsilon < 0 || *epsilon > kLargestNormEpsilon || !axes || axes->size() != 1) return std::nullopt;
  if (sum->int_or("keepdims", 1) != 1 || !group.is_closed(root.input(0))) return std::nullopt;
  const auto rank = static_cast<int64_t>(type.dims.size());
  const Result<int64_t> axis = ir::normalize_axis(axes->front(), rank);
  return axis.ok() ? std::optional(L2Norm{root.input(0), axis.value(), rank}) : std::nullopt;
}

}  // namespace

Result<Changed> fuse_l2_norm(pass::FloatContext& context) {
  const auto rule = [](const Graph& graph, const Node& root) -> Proposal {
    MatchedGroup group(graph, root);
    const std::optional<L2Norm> found = match_l2_norm(graph, group, root);
    if (!found) return std::optional<ir::GraphPatch>();
    ir::GraphPatch::PatchNode node{"LpNormalization", "", root.name, {found->data}, {}, {{"p", int64_t{2}, {}, {}}}};
    if (found->axis != found->rank - 1) node.attributes.push_back({"axis", found->axis, {}, {}});
    ir::GraphPatch patch;
    replace_group(patch, group, std::move(node));
    return std::optional(std::move(patch));
  };
  QQ_TRY(const Changed changed, run_once(context.graph(), rule));
  return pass::tidy_up(context.graph(), changed);
}

}  // namespace quarkq::rewrite

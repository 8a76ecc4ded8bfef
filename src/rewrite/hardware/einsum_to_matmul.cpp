// SPDX-License-Identifier: MIT
// Einsum of two tensors becomes a MatMul (a Mul where nothing is summed) between Transposes and Reshapes, of the
// layouts of einsum_layouts.h the one that moves least. Constants are moved here, not while the model runs.
#include <algorithm>

#include "base/index.h"
#include "ir/axes.h"
#include "rewrite/driver.h"
#include "rewrite/hardware/axis_moves.h"
#include "rewrite/hardware/einsum_layouts.h"
#include "rewrite/passes.h"

namespace quarkq::rewrite {
namespace {

using Sizes = std::map<char, int64_t>;

ir::Shape dims_of(const Letters& letters, const Sizes& sizes) {
  ir::Shape dims;
  for (const char letter : letters) dims.push_back(sizes.at(letter));
  return dims;
}

ir::Shape dims_of(const Groups& groups, const Sizes& sizes) {
  ir::Shape dims;
  for (const Letters& group : groups) dims.push_back(ir::checked_count(dims_of(group, sizes)));
  return dims;
}

/// The axes `from` of a tensor of this shape in the order `to`.
Reordering reordering(const Letters& from, const Letters& to, const Sizes& sizes) {
  Reordering made{dims_of(from, sizes), {}};
  for (const char letter : to) made.permutation.push_back(static_cast<int64_t>(from.find(letter)));
  return made;
}

/// The constant that no caller can replace; else null.
const ir::Tensor* constant_of(const ir::Graph& graph, ir::ValueId value) {
  return graph.value(value).is_input ? nullptr : graph.constant(value);
}

/// A layout and what it takes.
struct Choice {
  const ProductLayout* layout = nullptr;
  std::vector<AxisMove> left, right, output;
  size_t cost = 0;
};

class Rewriter {
 public:
  Rewriter(const ir::Graph& graph, const ir::Node& einsum, size_t most_rank)
      : graph_(graph), einsum_(einsum), most_rank_(most_rank) {}

  std::optional<ir::GraphPatch> patch() {
    const std::optional<Equation> equation = read_equation(einsum_.string_or("equation", ""));
    if (!equation || equation->terms.size() != einsum_.inputs.size()) return std::nullopt;
    for (const ir::ValueId input : einsum_.inputs) {
      if (!input.valid()) return std::nullopt;
    }
    equation_ = *equation;
    return equation_.terms.size() == 1 ? transpose() : product();
  }

 private:
  ElementType element() const { return graph_.value(einsum_.input(0)).type.element; }
  const std::string& name() const { return graph_.value(einsum_.output(0)).name; }
  MovedValue result() const { return {name(), element(), einsum_.output(0), einsum_.name}; }

  /// One term whose letters are all kept.
  std::optional<ir::GraphPatch> transpose() const {
    const Letters &from = equation_.terms[0], &to = equation_.output;
    const std::optional<Sizes> sizes = letter_sizes(graph_, einsum_, equation_);
    if (from.size() != to.size() || (!sizes && from.size() > most_rank_)) return std::nullopt;
    ir::GraphPatch patch;
    patch.remove(einsum_.id);
    if (from == to) {
      patch.node({"Identity", "", einsum_.name, {einsum_.input(0)}, {einsum_.output(0)}, {}});
    } else if (from.size() <= most_rank_) {
      basic::Permutation order;
      for (const char letter : to) order.push_back(static_cast<int64_t>(from.find(letter)));
      patch.node({"Transpose", "", einsum_.name, {einsum_.input(0)}, {einsum_.output(0)}, {{"perm", order, {}, {}}}});
    } else {
      const auto moves =
          plan_moves({dims_of(from, *sizes), {reordering(from, to, *sizes)}, dims_of(to, *sizes)}, most_rank_);
      if (!moves || moves->empty()) return std::nullopt;
      add_moves(patch, einsum_.input(0), *moves, result());
    }
    return patch;
  }

  std::optional<ir::GraphPatch> product() {
    const std::optional<Sizes> sizes = letter_sizes(graph_, einsum_, equation_);
    if (!sizes || !is_floating(element())) return std::nullopt;
    sizes_ = *sizes;
    Letters all;
    for (const auto& entry : sizes_) all.push_back(entry.first);
    if (!ir::element_count(dims_of(all, sizes_)).ok()) return std::nullopt;  // bounds every product of sizes below
    const std::optional<Product> product = product_of(equation_, most_rank_);
    if (!product) return std::nullopt;
    std::optional<Choice> best;
    for (const ProductLayout& layout : product->layouts) {
      std::optional<Choice> choice = choose(layout);
      if (choice && (!best || choice->cost < best->cost)) best = std::move(choice);
    }
    return best ? write(product->op, *best) : std::nullopt;
  }

  ir::ValueId operand(const ProductLayout& layout, bool right) const {
    return einsum_.input(layout.is_swapped == right ? 0 : 1);
  }

  std::optional<std::vector<AxisMove>> moves_of(const Letters& term, const Groups& groups) const {
    return plan_moves({dims_of(term, sizes_), {reordering(term, joined(groups), sizes_)}, dims_of(groups, sizes_)},
                      most_rank_);
  }

  std::optional<Choice> choose(const ProductLayout& layout) const {
    const Letters& made = joined(layout.output);
    const auto left = moves_of(equation_.terms[layout.is_swapped ? 1 : 0], layout.left);
    const auto right = moves_of(equation_.terms[layout.is_swapped ? 0 : 1], layout.right);
    const auto output = plan_moves({dims_of(layout.output, sizes_),
                                    {reordering(made, equation_.output, sizes_)},
                                    dims_of(equation_.output, sizes_)},
                                   most_rank_);
    if (!left || !right || !output) return std::nullopt;
    Choice choice{&layout, *left, *right, *output};
    const bool constant_left = constant_of(graph_, operand(layout, false)) != nullptr;
    const bool constant_right = constant_of(graph_, operand(layout, true)) != nullptr;
    choice.cost = cost_of(choice.output) + (constant_left ? 0 : cost_of(choice.left)) +
                  (constant_right ? 0 : cost_of(choice.right)) + (constant_left && !constant_right ? 1 : 0);
    return choice;
  }

  /// A Transpose moves data, a Reshape none; of equal layouts the one with its weight on the right is taken.
  static size_t cost_of(const std::vector<AxisMove>& moves) {
    size_t cost = 0;
    for (const AxisMove& move : moves) cost += move.permutation.empty() ? 2 : 6;
    return cost;
  }

  /// The operand after its moves; nothing for a constant of a type that cannot be moved.
  std::optional<ir::PatchValue> add_operand(ir::GraphPatch& patch, ir::ValueId value,
                                            const std::vector<AxisMove>& moves, const char* suffix) const {
    const ir::Tensor* constant = constant_of(graph_, value);
    if (constant == nullptr || moves.empty())
      return add_moves(patch, value, moves, {name() + suffix, element(), {}, {}});
    std::optional<ir::Tensor> data = moved(*constant, moves);
    if (!data) return std::nullopt;
    return patch.initializer(name() + suffix, std::move(*data));
  }

  std::optional<ir::GraphPatch> write(const std::string& op, const Choice& choice) const {
    ir::GraphPatch patch;
    patch.remove(einsum_.id);
    const auto left = add_operand(patch, operand(*choice.layout, false), choice.left, "_left");
    const auto right = add_operand(patch, operand(*choice.layout, true), choice.right, "_right");
    if (!left || !right) return std::nullopt;
    ir::PatchValue made = einsum_.output(0);
    if (!choice.output.empty())
      made = patch.value(name() + "_product", static_type(element(), dims_of(choice.layout->output, sizes_)));
    patch.node({op, "", einsum_.name, {*left, *right}, {made}, {}});
    MovedValue last = result();
    last.last_name = name() + "_moved";
    if (!choice.output.empty()) add_moves(patch, made, choice.output, last);
    return patch;
  }

  const ir::Graph& graph_;
  const ir::Node& einsum_;
  size_t most_rank_;
  Equation equation_;
  Sizes sizes_;
};

}  // namespace

Result<Changed> einsum_to_matmul(pass::FloatContext& context) {
  const auto most_rank = static_cast<size_t>(context.settings.legalize.most_rank.value_or(ir::kMaxRank));
  return run_rule(context, "einsum-to-matmul", [&](const ir::Graph& graph, const ir::Node& node) -> Proposal {
    return node.is("Einsum") ? Rewriter(graph, node, most_rank).patch() : std::nullopt;
  });
}

}  // namespace quarkq::rewrite

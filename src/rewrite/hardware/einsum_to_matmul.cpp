// SPDX-License-Identifier: MIT
// Replaces an Einsum of two tensors by a MatMul (a Mul if nothing is summed) between Transposes and Reshapes, in the
// layout that moves the fewest elements. Constants are moved here, not at run time.
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/index.h"
#include "ir/graph.h"
#include "ir/shape.h"
#include "rewrite/driver.h"
#include "rewrite/hardware/axis_moves.h"
#include "rewrite/passes.h"

namespace quarkq::rewrite {
namespace {

// Private to einsum_to_matmul: the equation of two operands, and the products that compute it.

/// Letters of an equation, each an axis.
using Letters = std::string;

struct Equation {
  std::vector<Letters> terms;  ///< one or two
  Letters output;
};

/// Letters that are one axis together; none: an axis of size 1.
using Groups = std::vector<Letters>;

/// A MatMul or Mul of the two operands, each with the axes of its groups.
struct ProductLayout {
  bool is_swapped = false;  ///< term 1 is the left operand
  Groups left, right, output;
};

/// A product for an equation with two terms.
struct Product {
  std::string op;  ///< MatMul, or Mul when no letter is summed over
  std::vector<ProductLayout> layouts;
};

bool has(const Letters& letters, char letter) { return letters.find(letter) != Letters::npos; }

/// The letters of `from` that are in `wanted`, in the order of `from`.
Letters among(const Letters& from, const Letters& wanted) {
  Letters found;
  std::copy_if(from.begin(), from.end(), std::back_inserter(found), [&](char letter) { return has(wanted, letter); });
  return found;
}

bool is_plain(const Letters& letters) {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  return std::all_of(letters.begin(), letters.end(), is_letter) &&
         std::set<char>(letters.begin(), letters.end()).size() == letters.size();
}

/// Without "->": the letters that occur once, in alphabetical order.
Letters implied_output(const std::vector<Letters>& terms) {
  std::map<char, int> uses;
  for (const Letters& term : terms) {
    for (const char letter : term) ++uses[letter];
  }
  Letters output;
  for (const auto& [letter, count] : uses) {
    if (count == 1) output.push_back(letter);
  }
  return output;
}

/// The letters of a product by what it does with them, in one order.
struct Classes {
  Letters batch, rows, columns, summed;
};

Groups single(const Letters& letters) {
  Groups groups;
  for (const char letter : letters) groups.emplace_back(1, letter);
  return groups;
}

Groups operator+(Groups a, const Groups& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

class LayoutMaker {
 public:
  explicit LayoutMaker(size_t most_rank) : most_rank_(most_rank) {}

  /// No letter is summed: both operands broadcast. Axes that an operand does not have are 1 there.
  void add_mul(const Classes& c) {
    const Groups rows = c.rows.empty() ? Groups{} : Groups{c.rows},
                 columns = c.columns.empty() ? Groups{} : Groups{c.columns};
    const Groups batch = leading(c.batch, rows.size() + columns.size());
    layouts.push_back({swapped, batch + rows + Groups(columns.size()), batch + Groups(rows.size()) + columns,
                       batch + rows + columns});
  }

  void add_matmul(const Classes& c) {
    if (!c.batch.empty()) {
      const Groups batch = leading(c.batch, 2);
      layouts.push_back({swapped, batch + Groups{c.rows, c.summed}, batch + Groups{c.summed, c.columns},
                         batch + Groups{c.rows, c.columns}});
      return;
    }
    // One operand is a matrix; letters of the other one may stay axes in front of it.
    for (size_t front = 0; front < std::max<size_t>(1, c.rows.size()); ++front) {
      const Groups axes = leading(c.rows.substr(0, front), 2);
      const Letters rows = c.rows.substr(front);
      layouts.push_back(
          {swapped, axes + Groups{rows, c.summed}, {c.summed, c.columns}, axes + Groups{rows, c.columns}});
    }
    for (size_t front = 1; front < c.columns.size(); ++front) {
      const Groups axes = leading(c.columns.substr(0, front), 2);
      const Letters columns = c.columns.substr(front);
      layouts.push_back(
          {swapped, {c.rows, c.summed}, axes + Groups{c.summed, columns}, axes + Groups{c.rows, columns}});
    }
  }

  bool swapped = false;
  std::vector<ProductLayout> layouts;

 private:
  /// Returns an axis per letter, or one for all if the limit leaves no axes in addition to `others`.
  Groups leading(const Letters& letters, size_t others) const {
    return letters.size() + others <= most_rank_ ? single(letters) : Groups{letters};
  }

  size_t most_rank_;
};

/// Returns the orders in which the letters of a class occur, so that they need not be moved there.
std::set<Letters> orders(const Letters& wanted, const std::vector<Letters>& places) {
  std::set<Letters> found;
  for (const Letters& place : places) found.insert(among(place, wanted));
  return found;
}

void add_layouts(const Equation& equation, bool swapped, LayoutMaker& maker) {
  const Letters &left = equation.terms[swapped ? 1 : 0], &right = equation.terms[swapped ? 0 : 1];
  const Letters& output = equation.output;
  Classes all;
  for (const char letter : left) {
    (!has(right, letter) ? all.rows : has(output, letter) ? all.batch : all.summed).push_back(letter);
  }
  std::copy_if(right.begin(), right.end(), std::back_inserter(all.columns), [&](char c) { return !has(left, c); });
  maker.swapped = swapped;
  for (const Letters& batch : orders(all.batch, {left, right, output})) {
    for (const Letters& summed : orders(all.summed, {left, right})) {
      for (const Letters& rows : orders(all.rows, {left, output})) {
        for (const Letters& columns : orders(all.columns, {right, output})) {
          const Classes classes{batch, rows, columns, summed};
          summed.empty() ? maker.add_mul(classes) : maker.add_matmul(classes);
        }
      }
    }
  }
}

/// Returns nullopt unless there are one or two terms of plain letters without repetitions, and the output consists of
/// these letters.
std::optional<Equation> read_equation(std::string text) {
  std::erase(text, ' ');
  const size_t arrow = text.find("->");
  const std::string inputs = text.substr(0, arrow);
  Equation equation;
  const size_t comma = inputs.find(',');
  equation.terms.push_back(inputs.substr(0, comma));
  if (comma != std::string::npos) equation.terms.push_back(inputs.substr(comma + 1));
  equation.output = arrow == std::string::npos ? implied_output(equation.terms) : text.substr(arrow + 2);
  Letters known;
  for (const Letters& term : equation.terms) {
    if (!is_plain(term)) return std::nullopt;
    known += term;
  }
  if (!is_plain(equation.output) || among(equation.output, known) != equation.output) return std::nullopt;
  return equation;
}

/// Returns the size of each letter, or nullopt unless each has one known size above 0 at all places.
std::optional<std::map<char, int64_t>> letter_sizes(const ir::Graph& graph, const ir::Node& einsum,
                                                    const Equation& equation) {
  std::map<char, int64_t> sizes;
  for (size_t i = 0; i < equation.terms.size(); ++i) {
    const ir::ValueType& type = graph.value(einsum.input(i)).type;
    if (!type.is_tensor() || !type.is_static() || type.dims.size() != equation.terms[i].size()) return std::nullopt;
    for (size_t d = 0; d < type.dims.size(); ++d) {
      const auto [entry, is_new] = sizes.emplace(equation.terms[i][d], type.dims[d].size);
      if (entry->second != type.dims[d].size || entry->second == 0) return std::nullopt;
    }
  }
  return sizes;
}

/// Returns nullopt if a letter of only one term is summed over. All layouts have at most `most_rank` axes.
std::optional<Product> matrix_product(const Equation& equation, size_t most_rank) {
  const Letters &left = equation.terms[0], &right = equation.terms[1];
  for (const char letter : left + right) {
    if (has(left, letter) != has(right, letter) && !has(equation.output, letter)) return std::nullopt;
  }
  LayoutMaker maker(most_rank);
  for (const bool swapped : {false, true}) add_layouts(equation, swapped, maker);
  const Letters& output = equation.output;
  const bool sums = std::any_of(left.begin(), left.end(), [&](char letter) { return !has(output, letter); });
  return Product{sums ? "MatMul" : "Mul", std::move(maker.layouts)};
}

/// All letters of the groups in their order.
Letters joined(const Groups& groups) {
  Letters all;
  for (const Letters& group : groups) all += group;
  return all;
}

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
    const std::optional<Product> product = matrix_product(equation_, most_rank_);
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

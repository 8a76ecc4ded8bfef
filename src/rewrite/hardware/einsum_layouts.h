// SPDX-License-Identifier: MIT
// Private to einsum_to_matmul: the equation of two operands, and the products that compute it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ir/graph.h"

namespace quarkq::rewrite {

/// Letters of an equation, each an axis.
using Letters = std::string;

struct Equation {
  std::vector<Letters> terms;  ///< one or two
  Letters output;
};

/// Nothing unless there are one or two terms of plain letters, none twice in a term, and the output has letters of
/// them.
std::optional<Equation> read_equation(std::string text);

/// Size of each letter; nothing unless each has one known size above 0 wherever it stands.
std::optional<std::map<char, int64_t>> letter_sizes(const ir::Graph& graph, const ir::Node& einsum,
                                                    const Equation& equation);

/// Letters that are one axis together; none: an axis of size 1.
using Groups = std::vector<Letters>;

/// A MatMul or Mul of the two operands, each with the axes of its groups.
struct ProductLayout {
  bool is_swapped = false;  ///< term 1 is the left operand
  Groups left, right, output;
};

/// What can be done for an equation with two terms.
struct Product {
  std::string op;  ///< MatMul, or Mul when no letter is summed over
  std::vector<ProductLayout> layouts;
};

/// Nothing when a letter of one term alone is summed over. All layouts have at most `most_rank` axes.
std::optional<Product> product_of(const Equation& equation, size_t most_rank);

/// All letters of the groups in their order.
Letters joined(const Groups& groups);

}  // namespace quarkq::rewrite

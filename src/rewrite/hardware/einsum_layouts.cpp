// SPDX-License-Identifier: MIT
#include "rewrite/hardware/einsum_layouts.h"

#include <algorithm>
#include <set>

namespace quarkq::rewrite {
namespace {

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
  /// An axis for each letter, or one for all where the limit leaves no room beside `others`.
  Groups leading(const Letters& letters, size_t others) const {
    return letters.size() + others <= most_rank_ ? single(letters) : Groups{letters};
  }

  size_t most_rank_;
};

/// Orders in which the letters of a class stand somewhere, so that nothing needs to be moved there.
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

}  // namespace

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

std::optional<Product> product_of(const Equation& equation, size_t most_rank) {
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

Letters joined(const Groups& groups) {
  Letters all;
  for (const Letters& group : groups) all += group;
  return all;
}

}  // namespace quarkq::rewrite

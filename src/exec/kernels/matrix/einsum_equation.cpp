// SPDX-License-Identifier: MIT
#include <string>

#include "exec/kernels/matrix/einsum.h"

namespace quarkq::exec {
namespace {

constexpr std::string_view kDots = "...";

/// The labels of one term. `dotted`: how many dimensions "..." stands for.
Result<Labels> read_term(const Prepare& p, std::string_view term, int64_t dotted) {
  Labels labels;
  bool has_dots = false;
  for (size_t i = 0; i < term.size(); ++i) {
    const char c = term[i];
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) {
      labels.push_back(c);
      continue;
    }
    if (term.substr(i, kDots.size()) != kDots || has_dots) {
      return p.corrupt("term '", term, "' of the equation, allowed: letters and one ...");
    }
    has_dots = true;
    for (int64_t k = dotted; k-- > 0;) labels.push_back(kEllipsis + static_cast<int>(k));
    i += kDots.size() - 1;
  }
  return labels;
}

/// Dimensions that "..." stands for in a term of an input of `rank`.
int64_t dotted_dims(std::string_view term, int64_t rank) {
  if (term.find(kDots) == std::string_view::npos) return 0;
  return std::max<int64_t>(0, rank - static_cast<int64_t>(term.size() - kDots.size()));
}

std::vector<std::string_view> split_terms(std::string_view text) {
  std::vector<std::string_view> terms;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    terms.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return terms;
}

Status add_sizes(const Prepare& p, size_t input, const Labels& labels, std::map<int, int64_t>& sizes) {
  const ir::Shape& dims = p.in(input).dims;
  if (labels.size() != dims.size()) {
    return p.corrupt("term ", input, " of the equation has ", labels.size(), " labels, input ", input, " is ",
                     shape_text(dims));
  }
  for (size_t d = 0; d < dims.size(); ++d) {
    const auto [entry, is_new] = sizes.emplace(labels[d], dims[d]);
    if (is_new || dims[d] == 1 || entry->second == dims[d]) continue;
    if (entry->second != 1) {
      return p.corrupt("dimension ", d, " of input ", input, " is ", dims[d], ", elsewhere its label has ",
                       entry->second);
    }
    entry->second = dims[d];
  }
  return Status();
}

/// Without "->": the dimensions under "...", then the letters that occur once, in alphabetical order.
Labels implied_output(const EinsumEquation& equation, int64_t dotted) {
  Labels output;
  for (int64_t k = dotted; k-- > 0;) output.push_back(kEllipsis + static_cast<int>(k));
  std::map<int, int> uses;
  for (const Labels& term : equation.terms) {
    for (const int label : term) ++uses[label];
  }
  for (const auto& [label, count] : uses) {
    if (label < kEllipsis && count == 1) output.push_back(label);
  }
  return output;
}

Status check_output(const Prepare& p, const EinsumEquation& equation) {
  Labels sorted = equation.output;
  std::sort(sorted.begin(), sorted.end());
  if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end()) {
    return p.corrupt("the equation names an output dimension twice");
  }
  for (const int label : sorted) {
    if (equation.sizes.count(label) == 0) return p.corrupt("the equation has an output label that no input has");
  }
  return Status();
}

}  // namespace

Result<EinsumEquation> read_equation(const Prepare& p) {
  std::string text = p.node().string_or("equation", "");
  std::erase(text, ' ');
  const size_t arrow = text.find("->");
  const std::string_view whole = text;
  const auto terms = split_terms(whole.substr(0, arrow));
  if (terms.size() != p.input_count()) {
    return p.corrupt("the equation '", text, "' has ", terms.size(), " terms, the node ", p.input_count(), " inputs");
  }
  EinsumEquation equation;
  int64_t dotted = 0;
  for (size_t i = 0; i < terms.size(); ++i) {
    QQ_RETURN_IF_ERROR(p.require_input(i));
    const int64_t own = dotted_dims(terms[i], p.in(i).rank());
    dotted = std::max(dotted, own);
    QQ_TRY(Labels labels, read_term(p, terms[i], own));
    QQ_RETURN_IF_ERROR(add_sizes(p, i, labels, equation.sizes));
    equation.terms.push_back(std::move(labels));
  }
  if (arrow == std::string::npos) {
    equation.output = implied_output(equation, dotted);
  } else {
    QQ_TRY(equation.output, read_term(p, whole.substr(arrow + 2), dotted));
  }
  QQ_RETURN_IF_ERROR(check_output(p, equation));
  return equation;
}

}  // namespace quarkq::exec

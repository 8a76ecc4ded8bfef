// SPDX-License-Identifier: MIT
#include "rewrite/simplify/scope.h"

#include <algorithm>
#include <charconv>

#include "base/strings.h"

namespace quarkq::rewrite::simplify {

namespace {

constexpr int64_t kLargest = int64_t{1} << 40;  ///< Larger factors are not dimensions.

MaybeTerm checked(Term term) {
  if (term.factor > kLargest || term.factor < -kLargest) return std::nullopt;
  if (term.factor == 0) term.symbols.clear();
  return term;
}

/// Numbers far beyond any dimension stand for "to the end": nothing is computed from them.
bool is_small(const MaybeTerm& term) { return term && term->factor <= kLargest && term->factor >= -kLargest; }

MaybeTerm combined(const MaybeTerm& a, const MaybeTerm& b, int64_t sign) {
  if (!is_small(a) || !is_small(b)) return std::nullopt;
  if (b->factor == 0) return a;
  if (a->factor == 0) return checked({sign * b->factor, b->symbols});
  if (a->symbols != b->symbols) return std::nullopt;
  return checked({a->factor + sign * b->factor, a->symbols});
}

}  // namespace

Term number_term(int64_t number) { return {number, {}}; }

MaybeTerm term_of(const ir::Dim& dim) {
  if (dim.known()) return number_term(dim.size);
  if (dim.symbol.empty()) return std::nullopt;
  Term term;
  for (const std::string& part : split(dim.symbol, '*')) {
    int64_t number = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), number);
    if (error == std::errc() && end == part.data() + part.size()) {
      if (__builtin_mul_overflow(term.factor, number, &term.factor)) return std::nullopt;
    } else {
      term.symbols.push_back(part);
    }
  }
  std::sort(term.symbols.begin(), term.symbols.end());
  return checked(std::move(term));
}

ir::Dim dim_of(const MaybeTerm& term) {
  if (!term || term->factor < 0) return {};
  if (term->is_number()) return {term->factor, {}};
  std::string text = join(term->symbols, "*");
  return {-1, term->factor == 1 ? text : cat(term->factor, "*", text)};
}

MaybeTerm add(const MaybeTerm& a, const MaybeTerm& b) { return combined(a, b, 1); }
MaybeTerm subtract(const MaybeTerm& a, const MaybeTerm& b) { return combined(a, b, -1); }

MaybeTerm multiply(const MaybeTerm& a, const MaybeTerm& b) {
  if (!is_small(a) || !is_small(b)) return std::nullopt;
  Term product;
  if (__builtin_mul_overflow(a->factor, b->factor, &product.factor)) return std::nullopt;
  std::merge(a->symbols.begin(), a->symbols.end(), b->symbols.begin(), b->symbols.end(),
             std::back_inserter(product.symbols));
  return checked(std::move(product));
}

MaybeTerm divide(const MaybeTerm& a, const MaybeTerm& b) {
  if (!is_small(a) || !is_small(b) || b->factor == 0 || a->factor % b->factor != 0) return std::nullopt;
  if (!std::includes(a->symbols.begin(), a->symbols.end(), b->symbols.begin(), b->symbols.end())) return std::nullopt;
  Term quotient{a->factor / b->factor, {}};
  std::set_difference(a->symbols.begin(), a->symbols.end(), b->symbols.begin(), b->symbols.end(),
                      std::back_inserter(quotient.symbols));
  return quotient;
}

int64_t Scope::opset() const {
  const auto found = opsets.find("");
  return found == opsets.end() ? 1 : found->second;
}

const ir::Tensor* Scope::constant(ir::ValueId id) const {
  if (!id.valid() || graph.value(id).is_input) return nullptr;
  const auto found = outer.find(id);
  return found != outer.end() ? &found->second : graph.constant(id);
}

std::optional<std::vector<int64_t>> Scope::integers(ir::ValueId id) const {
  const ir::Tensor* tensor = constant(id);
  if (tensor == nullptr || !is_integer(tensor->type())) return std::nullopt;
  Result<std::vector<int64_t>> values = ir::to_int64(*tensor);
  return values.ok() ? std::optional(std::move(values).value()) : std::nullopt;
}

std::optional<ir::Shape> Scope::static_shape(ir::ValueId id) const {
  if (!id.valid() || !graph.value(id).type.is_static()) return std::nullopt;
  return graph.value(id).type.shape();
}

bool Scope::same_shape(ir::ValueId a, ir::ValueId b) const {
  const ir::ValueType &x = graph.value(a).type, &y = graph.value(b).type;
  if (!x.has_shape || !y.has_shape || x.dims.size() != y.dims.size()) return false;
  // A graph output keeps the names that the file gives its dimensions; any other size that was found replaces a name.
  const auto is_named = [&](ir::ValueId id, const ir::Dim& dim) {
    return !dim.symbol.empty() && (!dim.known() || graph.value(id).is_output);
  };
  for (size_t i = 0; i < x.dims.size(); ++i) {
    const bool named = is_named(a, x.dims[i]);
    if (named != is_named(b, y.dims[i]) || x.dims[i].size != y.dims[i].size) return false;
    if (named ? x.dims[i].symbol != y.dims[i].symbol : !x.dims[i].known()) return false;
  }
  return true;
}

}  // namespace quarkq::rewrite::simplify

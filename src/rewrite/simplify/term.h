// SPDX-License-Identifier: MIT
// A whole number times named dimensions: what an element of a shape is before the model runs, "2*batch".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ir/shape.h"

namespace quarkq::rewrite::simplify {

struct Term {
  int64_t factor = 1;
  std::vector<std::string> symbols = {};  ///< sorted; as often as they are multiplied
  bool is_number() const { return symbols.empty(); }
  bool operator==(const Term&) const = default;
};

using MaybeTerm = std::optional<Term>;

Term number_term(int64_t number);
/// Nothing for a dimension without size and name.
MaybeTerm term_of(const ir::Dim& dim);
/// The dimension of this size: products are written "2*batch", which term_of() reads again. Negative ones are unknown.
ir::Dim dim_of(const MaybeTerm& term);

/// Nothing where the result is no such term, or when it would overflow.
MaybeTerm add(const MaybeTerm& a, const MaybeTerm& b);
MaybeTerm subtract(const MaybeTerm& a, const MaybeTerm& b);
MaybeTerm multiply(const MaybeTerm& a, const MaybeTerm& b);
MaybeTerm divide(const MaybeTerm& a, const MaybeTerm& b);  ///< only where it leaves no remainder

}  // namespace quarkq::rewrite::simplify

// SPDX-License-Identifier: MIT
// One graph under simplification: what its steps may ask and change.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "config/rewrite_settings.h"
#include "ir/edit.h"
#include "ir/shape.h"

namespace quarkq::rewrite::simplify {

/// A whole number times named dimensions: what an element of a shape is before the model runs, "2*batch".
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

using Options = config::SimplifySettings;

struct Scope {
  ir::Graph& graph;
  const std::map<std::string, int64_t>& opsets;
  const Options& options;
  bool nested = false;
  std::map<ir::ValueId, ir::Tensor> outer = {};  ///< nested graphs: constants of the graphs around, by captured value

  int64_t opset() const;
  /// The constant that a value of this graph holds; null when it is not known or a caller may replace it.
  const ir::Tensor* constant(ir::ValueId id) const;
  /// The same as integers; nothing for other types.
  std::optional<std::vector<int64_t>> integers(ir::ValueId id) const;
  /// All dimensions, when all are known.
  std::optional<ir::Shape> static_shape(ir::ValueId id) const;
  /// Same rank and dimension by dimension the same number or the same symbol.
  bool same_shape(ir::ValueId a, ir::ValueId b) const;
  const std::string& name(ir::ValueId id) const { return graph.value(id).name; }
};

}  // namespace quarkq::rewrite::simplify

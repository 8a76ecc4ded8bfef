// SPDX-License-Identifier: MIT
// One graph under simplification: the queries and changes available to its steps.
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

/// A whole number times named dimensions, "2*batch": the value of a shape's element before the model runs.
struct Term {
  int64_t factor = 1;
  std::vector<std::string> symbols = {};  ///< Sorted; a repeated factor is listed repeatedly.
  bool is_number() const { return symbols.empty(); }
  bool operator==(const Term&) const = default;
};

using MaybeTerm = std::optional<Term>;

Term number_term(int64_t number);
/// Returns nullopt for a dimension without size and name.
MaybeTerm term_of(const ir::Dim& dim);
/// Returns the dimension of this size. Products are written "2*batch", which term_of() parses. Negative sizes become
/// unknown.
ir::Dim dim_of(const MaybeTerm& term);

/// Returns nullopt if the result cannot be represented as a term or overflows.
MaybeTerm add(const MaybeTerm& a, const MaybeTerm& b);
MaybeTerm subtract(const MaybeTerm& a, const MaybeTerm& b);
MaybeTerm multiply(const MaybeTerm& a, const MaybeTerm& b);
MaybeTerm divide(const MaybeTerm& a, const MaybeTerm& b);  ///< Returns nullopt if there is a remainder.

using Options = config::SimplifySettings;

struct Scope {
  ir::Graph& graph;
  const std::map<std::string, int64_t>& opsets;
  const Options& options;
  bool nested = false;
  std::map<ir::ValueId, ir::Tensor> outer = {};  ///< In nested graphs: constants of the enclosing graphs, by captured
                                                 ///< value.

  int64_t opset() const;
  /// Returns the constant of a value of this graph, or null if it is unknown or a caller may replace it.
  const ir::Tensor* constant(ir::ValueId id) const;
  /// Returns the constant as integers, or nullopt for other types.
  std::optional<std::vector<int64_t>> integers(ir::ValueId id) const;
  /// Returns all dimensions, or nullopt if one is unknown.
  std::optional<ir::Shape> static_shape(ir::ValueId id) const;
  /// Returns whether ranks are equal and each dimension is the same number or the same symbol.
  bool same_shape(ir::ValueId a, ir::ValueId b) const;
  const std::string& name(ir::ValueId id) const { return graph.value(id).name; }
};

}  // namespace quarkq::rewrite::simplify

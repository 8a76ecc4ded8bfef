// SPDX-License-Identifier: MIT
// One graph under simplification: what its steps may ask and change.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "config/simplify_settings.h"
#include "ir/edit.h"

namespace quarkq::rewrite::simplify {

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

// SPDX-License-Identifier: MIT
// One graph under simplification: what its steps may ask and change.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "config/node.h"
#include "ir/edit.h"

namespace quarkq::rewrite::simplify {

/// SimplifyModelOptions as far as they are known here.
struct Options {
  std::set<std::string, std::less<>> skipped_steps, skipped_patterns;
  std::vector<std::string> input_shapes;
  std::optional<int64_t> size_threshold;  ///< bytes that a folded result may have at most
  bool runs(std::string_view step) const { return !skipped_steps.contains(step); }
};

/// Reads what is known of the options; unknown keys are left to whoever checks the configuration.
Options read_options(const config::Node& node);

struct Scope {
  ir::Graph& graph;
  const std::map<std::string, int64_t>& opsets;
  const Options& options;
  bool nested = false;
  std::map<ir::ValueId, ir::Tensor> outer = {};  ///< nested graphs: constants of the graphs around, by captured value

  int64_t opset() const;
  /// The constant behind a value of this graph; null when it is not known or a caller may replace it.
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

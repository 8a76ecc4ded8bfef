// SPDX-License-Identifier: MIT
// Names that are made from other names, such as "t_QuantizeLinear" of a tensor t, may be taken already: by a model that
// holds such a name, by nodes that share one, or by a nested graph, which sees the values around it.
#pragma once

#include <string>
#include <unordered_set>

#include "ir/graph.h"

namespace quarkq::ir {

/// A set of names to which new ones are added.
class UniqueNames {
 public:
  /// Marks the name as taken; false when it was already.
  bool add(const std::string& name) { return taken_.insert(name).second; }
  bool contains(const std::string& name) const { return taken_.contains(name); }
  /// `wanted` when it is free, else the first free one of "wanted_1", "wanted_2", ...; taken from then on.
  std::string take(const std::string& wanted);

 private:
  std::unordered_set<std::string> taken_;
};

/// No two nodes of a graph share a name, and no inner value has one that a graph nested in it gives to another value.
/// What is older (a smaller id; values of nested graphs) keeps its name, so users' names stay and those made later give
/// way. Nodes without a name stay without; names of inputs and outputs never change. Nested graphs are treated alike.
/// Returns how many names changed.
size_t make_names_unique(Graph& graph);

}  // namespace quarkq::ir

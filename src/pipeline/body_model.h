// SPDX-License-Identifier: MIT
// The body of an If, Loop or Scan as a model of its own, and back: whatever quantizes models quantizes bodies (ADR
// 0017).
#pragma once

#include <string>
#include <vector>

#include "ir/graph.h"

namespace quarkq::pipeline {

/// A value of the body model in the place of one that the body captures.
struct StandIn {
  ir::ValueId captured;  ///< in the body
  ir::ValueId local;     ///< in the model: an input, or an initializer where the enclosing graph stores the value
  std::string name;      ///< that the body captures it by
};

struct BodyModel {
  ir::Model model;
  std::vector<StandIn> stand_ins;
};

/// `body` is a graph in an attribute of `node`, which is in `enclosing.graph`. Stand-ins have names of their own, so
/// that what is named after them does not meet names of the enclosing graph. kUnsupported when the body returns a
/// captured value as it is.
Result<BodyModel> make_body_model(const ir::Model& enclosing, const ir::Node& node, const ir::Graph& body);

/// The graph of the model as a body: stand-ins that are still read are captured again.
ir::Graph body_of(BodyModel model);

}  // namespace quarkq::pipeline

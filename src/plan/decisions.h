// SPDX-License-Identifier: MIT
// Decisions: what was decided about each tensor, by which rule, in order. They answer why a tensor is float, or
// quantized as it is (quarkq inspect --why, the report).
#pragma once

#include <cstdint>
#include <string>

#include "ir/graph.h"

namespace quarkq::plan {

enum class DecisionKind : uint8_t {
  // selection, by node
  kOperatorNotSelected,
  kNodeExcluded,
  kNodeNotIncluded,
  kNodeLeftFloat,
  kAlreadyQuantized,
  // marking
  kMarkedActivation,
  kMarkedWeight,
  kMarkedBias,
  kMarkedSame,
  kNotFloat,
  kWeightsOnly,
  kOutputExcluded,
  kBiasNotConstant,
  kBiasOption,
  kFolded,
  // afterwards
  kAbsorbed,
  kShared,
  kBiasWithoutScale,
  kPairNotWritten,
  kPromoted,
};

/// A plain record; its text is made on request.
struct Decision {
  ir::ValueId value;
  DecisionKind kind = DecisionKind::kMarkedActivation;
  ir::NodeId node = {};    ///< the node whose rule or position decided; invalid: none
  ir::ValueId other = {};  ///< the value whose parameters are shared; invalid: none
};

/// "op-set", "exclude", "marker", ...: where to look.
const char* rule_name(DecisionKind kind);
/// "quantized as an activation by the rule of node conv1 (Conv)". `graph`: the plan's.
std::string text(const Decision& decision, const ir::Graph& graph);

}  // namespace quarkq::plan

// SPDX-License-Identifier: MIT
// Decisions about each tensor: the rules that applied, in order. They explain why a tensor is quantized or float
// (quarkq inspect --why, the report).
#pragma once

#include <cstdint>
#include <string>

#include "ir/graph.h"

namespace quarkq::plan {

enum class DecisionKind : uint8_t {
  // Selection, per node.
  kOperatorNotSelected,
  kNodeExcluded,
  kNodeNotIncluded,
  kNodeLeftFloat,
  kAlreadyQuantized,
  // Marking.
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
  // After marking.
  kAbsorbed,
  kShared,
  kBiasWithoutScale,
  kPairNotWritten,
  kPromoted,
};

/// A plain record; text() formats it on demand.
struct Decision {
  ir::ValueId value;
  DecisionKind kind = DecisionKind::kMarkedActivation;
  ir::NodeId node = {};    ///< The node whose rule or position decided; invalid if none.
  ir::ValueId other = {};  ///< The value whose parameters are shared; invalid if none.
};

/// Returns "op-set", "exclude", "marker", ...: the rule to look up.
const char* rule_name(DecisionKind kind);
/// Returns "quantized as an activation by the rule of node conv1 (Conv)". `graph` is the graph of the plan.
std::string text(const Decision& decision, const ir::Graph& graph);

}  // namespace quarkq::plan

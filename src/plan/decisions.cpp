// SPDX-License-Identifier: MIT
#include "plan/decisions.h"

#include "base/strings.h"

namespace quarkq::plan {
namespace {

struct Row {
  DecisionKind kind;
  const char* rule;
  const char* text;  ///< the label of the node, or the name of the other value, is appended
};

constexpr Row kRows[] = {
    {DecisionKind::kOperatorNotSelected, "op-set", "stays float at a node whose operator is not in the op set:"},
    {DecisionKind::kNodeExcluded, "exclude", "stays float at a node that the settings exclude:"},
    {DecisionKind::kNodeNotIncluded, "include", "stays float at a node that nodes_to_quantize does not list:"},
    {DecisionKind::kNodeLeftFloat, "guard", "stays float at a node that a guard left float:"},
    {DecisionKind::kAlreadyQuantized, "op-set", "belongs to a node that quantizes already:"},
    {DecisionKind::kMarkedActivation, "marker", "quantized as an activation by the rule of"},
    {DecisionKind::kMarkedWeight, "marker", "quantized as a weight by the rule of"},
    {DecisionKind::kMarkedBias, "marker", "quantized as an int32 bias by the rule of"},
    {DecisionKind::kMarkedSame, "marker", "quantized with the parameters of"},
    {DecisionKind::kNotFloat, "marker", "is not changed, because it contains no float32 or float16 values, at"},
    {DecisionKind::kWeightsOnly, "marker", "stays float, because only weights are quantized, at"},
    {DecisionKind::kOutputExcluded, "marker", "stays float, because the settings exclude the outputs of"},
    {DecisionKind::kBiasNotConstant, "marker", "stays float, because a bias is quantized only when it is constant, at"},
    {DecisionKind::kBiasOption, "marker", "stays float, because QuantizeBias is off or only weights are quantized, at"},
    {DecisionKind::kFolded, "marker", "has no pair of its own, because the range of the result clamps, before"},
    {DecisionKind::kAbsorbed, "absorb-annotated", "has no pair of its own inside the fused pair that begins at"},
    {DecisionKind::kShared, "resolve-sharing", "shares the parameters of"},
    {DecisionKind::kBiasWithoutScale, "release-biases", "stays float, because its scale needs quantized inputs of"},
    {DecisionKind::kPairNotWritten, "remove-pairs-between", "is read without its pair by"},
    {DecisionKind::kPromoted, "mix-precision", "uses the format that mixed precision chose for"},
};

const Row& row_of(DecisionKind kind) { return kRows[static_cast<size_t>(kind)]; }

}  // namespace

const char* rule_name(DecisionKind kind) { return row_of(kind).rule; }

std::string text(const Decision& decision, const ir::Graph& graph) {
  const std::string subject = decision.other.valid()  ? cat(" ", graph.value(decision.other).name)
                              : decision.node.valid() ? cat(" ", graph.label(decision.node))
                                                      : "";
  return row_of(decision.kind).text + subject;
}

}  // namespace quarkq::plan

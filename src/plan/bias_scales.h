// SPDX-License-Identifier: MIT
// How the scales of an int32 bias follow from those of its node's weight (ref:marking#biases): the only rule, for plans
// and for written models.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "ir/graph.h"
#include "plan/quant_plan.h"

namespace quarkq::plan {

/// Whether a weight with `scales` scales along `axis` gives each value of a bias of these dimensions one scale. The
/// axis must be that of the output channels; a ConvTranspose repeats its scales for each group.
bool fits_bias(const ir::Node& node, int64_t axis, int64_t scales, const ir::Shape& bias);

/// The axis of a bias that its values run along: the only one that is longer than 1, otherwise the last.
int64_t bias_axis(const ir::Shape& bias);

/// input * weight * beta: one scale if the weight has one, otherwise one for each of `count` values, repeating those of
/// the weight. REQUIRES: weight is not empty.
std::vector<float> bias_scales(float input, std::span<const float> weight, float beta, size_t count);
ParamList bias_params(const ParamList& input, const ParamList& weight, float beta, size_t count);

/// Whether the scales of the weight fit the bias; the parameters need not be known yet. REQUIRES: a slot of role kBias
/// whose value is stored, and whose weight has a slot.
bool has_fitting_weight(const ir::Graph& graph, const QuantPlan& plan, const QuantSlot& bias);

}  // namespace quarkq::plan

// SPDX-License-Identifier: MIT
// Helpers of the passes that turn constants into what is stored.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "config/settings.h"
#include "ir/graph.h"
#include "ir/tensor.h"
#include "numeric/encode.h"
#include "plan/quant_plan.h"

namespace quarkq::plan {

// How the scales of an int32 bias follow from those of its node's weight (ref:marking#biases): the only rule, for plans
// and for written models.

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

/// Integers stored in `type` under `dims`. REQUIRES: every value fits the type.
ir::Tensor store_codes(const std::vector<int32_t>& codes, ElementType type, const ir::Shape& dims);

/// Real numbers stored in `type` under `dims`: cut off after the point and clipped to what the type holds; NaN becomes
/// the smallest. REQUIRES: an integer type of at most 32 bits.
ir::Tensor store_saturated(const std::vector<double>& codes, ElementType type, const ir::Shape& dims);

/// The limits that the stored integers of a constant are clipped to, by the slot's policy.
numeric::IntegerRange stored_limits(const config::Settings& settings, const QuantSlot& slot);

/// THE encoder of stored integers: `values` in the slot's format with `params`, clipped to `limits`.
ir::Tensor encode_constant(std::span<const float> values, const ir::Shape& dims, const numeric::QuantSpec& spec,
                           const ParamList& params, numeric::IntegerRange limits);

/// value / scale + zero point in `type`, a float16, bfloat16 or float8 type, rounded to nearest even
/// (ref:scales#stored-weights).
ir::Tensor store_scaled_floats(std::span<const float> values, const numeric::ChannelSplit& split,
                               const std::vector<numeric::QuantParams>& params, ElementType type,
                               const ir::Shape& dims);

/// Values that bfloat16 can hold as zeros or normal numbers, a float32 tensor, or nothing when all are such already
/// (ref:scales#stored-weights). REQUIRES: as many values as `dims` say.
std::optional<ir::Tensor> clipped_to_bfloat16(std::span<const float> values, const ir::Shape& dims);

}  // namespace quarkq::plan

// SPDX-License-Identifier: MIT
// Helpers of the passes that convert constants to stored codes.
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

// The only rule by which the scales of an int32 bias follow from the scales of its node's weight (ref:marking#biases),
// for plans and for written models.

/// Returns whether a weight with `scales` scales along `axis` gives each value of a bias of these dimensions exactly
/// one scale. The axis must be the axis of the output channels; a ConvTranspose repeats its scales for each group.
bool fits_bias(const ir::Node& node, int64_t axis, int64_t scales, const ir::Shape& bias);

/// Returns the axis along which the values of a bias run: the only axis longer than 1, otherwise the last.
int64_t bias_axis(const ir::Shape& bias);

/// Returns input * weight * beta: one scale if the weight has one, otherwise `count` scales that repeat the weight's
/// scales. REQUIRES: weight is not empty.
std::vector<float> bias_scales(float input, std::span<const float> weight, float beta, size_t count);
ParamList bias_params(const ParamList& input, const ParamList& weight, float beta, size_t count);

/// Returns whether the scales of the weight fit the bias; the parameters may still be unknown. REQUIRES: a slot of role
/// kBias whose value is stored and whose weight has a slot.
bool has_fitting_weight(const ir::Graph& graph, const QuantPlan& plan, const QuantSlot& bias);

/// Returns integers stored in `type` under `dims`. REQUIRES: every value fits the type.
ir::Tensor store_codes(const std::vector<int32_t>& codes, ElementType type, const ir::Shape& dims);

/// Returns real numbers stored in `type` under `dims`, truncated and clipped to the range of the type; NaN becomes the
/// smallest value. REQUIRES: an integer type of at most 32 bits.
ir::Tensor store_saturated(const std::vector<double>& codes, ElementType type, const ir::Shape& dims);

/// Returns the limits to which the stored integers of a constant are clipped, by the slot's policy.
numeric::IntegerRange stored_limits(const config::Settings& settings, const QuantSlot& slot);

/// The encoder of stored integers: returns `values` in the slot's format with `params`, clipped to `limits`.
ir::Tensor encode_constant(std::span<const float> values, const ir::Shape& dims, const numeric::QuantSpec& spec,
                           const ParamList& params, numeric::IntegerRange limits);

/// Returns value / scale + zero point in `type`, a float16, bfloat16 or float8 type, rounded to nearest even
/// (ref:scales#stored-weights).
ir::Tensor store_scaled_floats(std::span<const float> values, const numeric::ChannelSplit& split,
                               const std::vector<numeric::QuantParams>& params, ElementType type,
                               const ir::Shape& dims);

/// Returns the values clipped to zeros and normal numbers of bfloat16, as a float32 tensor, or nullopt if no value
/// changes (ref:scales#stored-weights). REQUIRES: as many values as elements in `dims`.
std::optional<ir::Tensor> clipped_to_bfloat16(std::span<const float> values, const ir::Shape& dims);

}  // namespace quarkq::plan

// SPDX-License-Identifier: MIT
// Helpers of the passes that turn constants into what is stored.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "config/settings.h"
#include "ir/tensor.h"
#include "numeric/encode.h"
#include "plan/quant_plan.h"

namespace quarkq::plan {

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

// SPDX-License-Identifier: MIT
// TensorQuantOverrides (spec 01 D.6, spec 02 A.10): settings of single tensors, which layer configs turn into as well.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config/layer_config.h"
#include "numeric/range_to_params.h"

namespace quarkq::plan {

/// What one entry of the list says: of the whole tensor, or of one channel.
struct OverrideValues {
  std::optional<numeric::QuantParams> params;  ///< scale and zero point, given together
  std::optional<float> min, max;               ///< instead of the tensor's own ends
};

struct TensorOverride {
  std::optional<config::DataType> type;
  std::optional<int64_t> axis;  ///< constants: per channel along it
  std::optional<bool> symmetric, reduce_range;
  std::vector<OverrideValues> values;  ///< one, or one per channel; empty: none given

  bool is_per_channel() const { return axis.has_value() || values.size() > 1; }
};

/// The list of maps behind one tensor's name; `path` names it in messages.
Result<TensorOverride> read_override(const config::Node& list, const std::string& path);
/// Of a layer config only the type and the symmetry count (spec 01 D.5).
TensorOverride override_of(const config::TensorSpec& spec);

}  // namespace quarkq::plan

// SPDX-License-Identifier: MIT
// TensorFormats: the format of a marked tensor: the types of the settings, or those of its override.
#pragma once

#include <map>

#include "config/settings.h"
#include "config/tensor_overrides.h"
#include "plan/block_format.h"
#include "plan/quant_plan.h"

namespace quarkq::plan {

using TensorOverrides = std::map<ir::ValueId, config::TensorOverride>;

/// Null when the tensor has no settings of its own.
const config::TensorOverride* find_override(const TensorOverrides& overrides, ir::ValueId value);

class TensorFormats {
 public:
  /// Fails when BFPAttributes or MXAttributes hold invalid attribute values. Both arguments must outlive the result.
  static Result<TensorFormats> make(const config::Settings& settings, const TensorOverrides& overrides);

  /// Stage without parameters of an activation, and of a constant of rank `rank`, quantized per tensor.
  Stage activation(ir::ValueId value) const;
  Stage constant(ir::ValueId value, int64_t rank) const;

  const config::TensorOverride* override_of(ir::ValueId value) const { return find_override(overrides_, value); }

 private:
  explicit TensorFormats(const config::Settings& settings, const TensorOverrides& overrides)
      : settings_(settings), overrides_(overrides) {}
  Stage stage(config::DataType type, StageKind kind) const;

  const config::Settings& settings_;
  const TensorOverrides& overrides_;
  BlockFormat bfp_, mx_;
};

}  // namespace quarkq::plan

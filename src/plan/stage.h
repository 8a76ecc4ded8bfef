// SPDX-License-Identifier: MIT
// Stage: one step of quantization of one value.
#pragma once

#include <cstdint>
#include <optional>

#include "numeric/quant_spec.h"
#include "plan/block_format.h"
#include "plan/param_pool.h"

namespace quarkq::plan {

/// The written form of a stage: a Q node with its DQ, a stored constant with its DQ, or one node of a block
/// format.
enum class StageKind { kPair, kStored, kBlock };

struct Stage {
  StageKind kind = StageKind::kPair;
  numeric::QuantSpec spec;
  ParamId params;
  std::optional<BlockFormat> block;  ///< kBlock only
  bool is_mixed = false;             ///< mixed precision chose the format
  bool omits_axis = false;           ///< per channel along the operator's default axis, which the file does not name
};

}  // namespace quarkq::plan

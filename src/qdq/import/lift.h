// SPDX-License-Identifier: MIT
// From a written model back to a float graph and a plan, so that passes over plans run on finished models.
#pragma once

#include "plan/quant_plan.h"

namespace quarkq::qdq {

struct LiftedModel {
  ir::Model model;
  plan::QuantPlan plan;
};

/// Q/DQ pairs of integers and stored integers with their DQ become slots; tensors whose nodes read the same scale and
/// zero point share one ParamId. Stored integers come back as floats, dequantized, with their codes in the slot.
/// What it cannot interpret stays a node: block formats, floating types, scales that are computed, a Q or DQ alone,
/// values that are read both with and without their pair.
Result<LiftedModel> lift(const ir::Model& written);

}  // namespace quarkq::qdq

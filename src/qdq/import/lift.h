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

// From a written model back to a float one, to quantize it anew.

/// The float model that remains without Q/DQ pairs and block formats, stored integers dequantized. Where the range of a
/// pair ends at 0, it may have replaced a Relu or a Clip to 6, which comes back; a Relu that was not there before
/// changes nothing of what the written model computes.
/// What lift() does not know stays: lone Q or DQ nodes, products of integers, bfloat16 Casts.
Result<ir::Model> strip(const ir::Model& written);
/// The same of a model that was lifted already.
ir::Model strip(LiftedModel lifted);

}  // namespace quarkq::qdq

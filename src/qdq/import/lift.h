// SPDX-License-Identifier: MIT
// Conversion of a written model back to a float graph and a plan, so that passes over plans run on finished models.
#pragma once

#include "plan/quant_plan.h"

namespace quarkq::qdq {

struct LiftedModel {
  ir::Model model;
  plan::QuantPlan plan;
};

/// Converts Q/DQ pairs of integers, and stored integers with their DQ, to slots. Tensors whose nodes read the same
/// scale and zero point share one ParamId. Stored integers become dequantized floats, with their codes in the slot.
/// Other nodes are kept: block formats, floating types, computed scales, a single Q or DQ, and values that are read
/// both with and without their pair.
Result<LiftedModel> lift(const ir::Model& written);

/// Returns the float model without Q/DQ pairs and block formats, and with stored integers dequantized. If the range of
/// a pair begins at 0, it may have replaced a Relu or a Clip to 6, which is restored; if that operator did not exist
/// before, the outputs do not change. Nodes that lift() does not support are kept: single Q or DQ nodes, integer
/// products, bfloat16 Casts.
Result<ir::Model> strip(const ir::Model& written);
/// Strips a model that was already lifted.
ir::Model strip(LiftedModel lifted);

}  // namespace quarkq::qdq

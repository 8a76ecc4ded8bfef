// SPDX-License-Identifier: MIT
// From a written model back to a float one, to quantize it anew.
#pragma once

#include "qdq/import/lift.h"

namespace quarkq::qdq {

/// The float model that remains without Q/DQ pairs and block formats, stored integers dequantized. Where the range of a
/// pair ends at 0, it may have replaced a Relu or a Clip to 6, which comes back; a Relu that was not there before
/// changes nothing of what the written model computes.
/// What lift() does not know stays: lone Q or DQ nodes, products of integers, bfloat16 Casts.
Result<ir::Model> strip(const ir::Model& written);
/// The same of a model that was lifted already.
ir::Model strip(LiftedModel lifted);

}  // namespace quarkq::qdq

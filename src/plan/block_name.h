// SPDX-License-Identifier: MIT
// What people call a block format.
#pragma once

#include <string>
#include <vector>

#include "ir/graph.h"

namespace quarkq::plan {

/// "BFP16", "MX6", "MXINT8", "MXFP4_E2M1": of a node of this operator (a kBoth of ir/quantizing_ops.h) with these
/// attributes. What they leave out is the operator's default.
std::string block_name(const std::string& op, const std::vector<ir::Attribute>& attributes);

}  // namespace quarkq::plan

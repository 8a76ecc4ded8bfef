// SPDX-License-Identifier: MIT
#pragma once

#include "ir/graph.h"

namespace quarkq::rewrite {

/// Shape known to inference for an inner value. The reference does not look at graph inputs and outputs here.
bool has_inner_shape(const ir::Value& value, size_t rank);

}  // namespace quarkq::rewrite

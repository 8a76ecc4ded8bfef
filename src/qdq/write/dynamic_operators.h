// SPDX-License-Identifier: MIT
// How single operators become operators on integers (ref:writing#dynamic-quantization).
#pragma once

#include "qdq/write/dynamic_writer.h"

namespace quarkq::qdq {

/// Replaces the node. False: it stays as it is, on floats.
using DynamicRule = Result<bool> (*)(DynamicWriter& writer, ir::NodeId node, const config::Settings& settings);

/// Null when there is none.
DynamicRule dynamic_rule(const ir::Node& node);

}  // namespace quarkq::qdq

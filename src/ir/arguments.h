// SPDX-License-Identifier: MIT
// Arguments that were attributes in older opsets and are inputs in newer ones: axes, pads, split sizes, limits.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ir/graph.h"

namespace quarkq::ir {

/// The integers of `attribute`, or of the constant at `input`. Empty when neither is given, nothing when computed.
std::optional<std::vector<int64_t>> integers_of(const ir::Graph& graph, const ir::Node& node, size_t input,
                                                const char* attribute);
/// The number of `attribute`, or of the one-element constant at `input`; `absent` when neither is given, nothing when
/// computed.
std::optional<double> number_of(const ir::Graph& graph, const ir::Node& node, size_t input, const char* attribute,
                                double absent);

}  // namespace quarkq::ir

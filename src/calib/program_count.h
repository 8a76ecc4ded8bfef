// SPDX-License-Identifier: MIT
// How many samples are worth running at once.
#pragma once

#include "ir/graph.h"

namespace quarkq::calib {

/// Programs that run `samples` samples, each on a part of the threads: that costs no waiting inside operators, but a
/// program with its weights for each. None runs fewer than `least_each` samples; at least 1.
size_t worthwhile_programs(const ir::Graph& graph, size_t samples, size_t least_each);

}  // namespace quarkq::calib

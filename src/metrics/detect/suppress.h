// SPDX-License-Identifier: MIT
// Non-maximum suppression: of boxes of a class that overlap, the one that scores highest stays.
#pragma once

#include <vector>

#include "metrics/detect/average_precision.h"

namespace quarkq::metrics {

/// Those that stay, by score; of equal scores the first. At most 300, of the 30000 that score highest.
std::vector<Detection> suppress(std::vector<Detection> found, double most_overlap);

}  // namespace quarkq::metrics

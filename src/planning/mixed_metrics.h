// SPDX-License-Identifier: MIT
// How far quantized outputs are from float ones (ref:mixed-precision#metrics). Lower is better.
#pragma once

#include <span>

#include "config/mixed_settings.h"

namespace quarkq::planning {

using config::MixedMetric;

/// REQUIRES: as many of one as of the other.
double mixed_metric(MixedMetric metric, std::span<const double> reference, std::span<const double> quantized);

}  // namespace quarkq::planning

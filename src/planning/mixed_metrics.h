// SPDX-License-Identifier: MIT
// How far quantized outputs are from float ones (spec 04 F.2). Lower is better.
#pragma once

#include <cstdint>
#include <span>

namespace quarkq::planning {

enum class MixedMetric : uint8_t { kL2, kKl, kCosine, kSqnr, kPsnr };

/// REQUIRES: as many of one as of the other.
double mixed_metric(MixedMetric metric, std::span<const double> reference, std::span<const double> quantized);

}  // namespace quarkq::planning

// SPDX-License-Identifier: MIT
// The reference's calibration methods, bit for bit (ref:calibration): the compat rows of calibrator_table.cpp.
#pragma once

#include <memory>

#include "calib/method_options.h"
#include "calib/range_observer.h"

namespace quarkq::calib {

using ObserverMaker = Result<std::unique_ptr<RangeObserver>>(const MethodOptions&);

/// MinMax and NonOverflow (ref:calibration#min-and-max).
ObserverMaker make_min_max_quark;
/// Percentile (ref:calibration#percentiles).
ObserverMaker make_percentile_quark;
/// Entropy (ref:calibration#entropy).
ObserverMaker make_entropy_quark;
/// Distribution (ref:calibration#distribution).
ObserverMaker make_distribution_quark;
/// LayerWisePercentile (ref:calibration#layerwise-percentile), on histograms or on the raw values.
ObserverMaker make_layerwise_percentile_quark;
/// MinMSE (ref:calibration#power-of-two-minmse), all modes.
ObserverMaker make_minmse_quark;

}  // namespace quarkq::calib

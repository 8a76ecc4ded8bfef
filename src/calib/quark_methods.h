// SPDX-License-Identifier: MIT
// The reference's calibration methods, bit for bit (spec 03 A): the compat rows of calibrator_table.cpp.
#pragma once

#include <memory>

#include "calib/method_options.h"
#include "calib/range_observer.h"

namespace quarkq::calib {

using ObserverMaker = Result<std::unique_ptr<RangeObserver>>(const MethodOptions&);

/// MinMax and NonOverflow (A.2).
ObserverMaker make_min_max_quark;
/// A.3 when symmetric, else A.4.
ObserverMaker make_percentile_quark;
/// A.5.
ObserverMaker make_entropy_quark;
/// A.6.
ObserverMaker make_distribution_quark;
/// A.7, on histograms or on the raw values.
ObserverMaker make_layerwise_percentile_quark;
/// A.8, all modes.
ObserverMaker make_minmse_quark;

}  // namespace quarkq::calib

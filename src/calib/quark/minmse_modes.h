// SPDX-License-Identifier: MIT
// The modes of MinMSE, a file each (ref:calibration#power-of-two-minmse); make_minmse_quark() chooses.
#pragma once

#include "calib/quark_methods.h"

namespace quarkq::calib {

using ObserverPointer = std::unique_ptr<RangeObserver>;

/// "All" on a histogram. REQUIRES: a symmetric range.
ObserverPointer make_minmse_on_bins(const MethodOptions& options);
/// "All" on the values: a pass for the extremes, one for the errors.
ObserverPointer make_minmse_on_values(const MethodOptions& options);
/// The scale that most samples prefer. REQUIRES: a symmetric range.
ObserverPointer make_minmse_most_common(const MethodOptions& options);
/// On the values that a percentile keeps: four passes.
ObserverPointer make_minmse_percentile(const MethodOptions& options);

}  // namespace quarkq::calib

// SPDX-License-Identifier: MIT
// What the settings ask of calibration, in the calibration layer's terms.
#pragma once

#include "calib/run_calibration.h"
#include "pass/context.h"

namespace quarkq::pass {

/// Options of the asked method.
calib::MethodOptions method_options(const config::Settings& settings);
/// The same for the method that compat mode falls back to: its own default of symmetry, unless the user set one.
calib::MethodOptions fallback_options(const config::Settings& settings, config::CalibrateMethod fallback);
/// What one pass over the samples must remember for the asked method.
calib::CollectOptions collect_options(const config::Settings& settings);

/// How the samples are run: by exec::backend(), where there is one.
calib::SampleRunOptions sample_run_options(const config::Settings& settings, const std::vector<ir::ValueId>& tensors,
                                           const Progress& progress);

/// The row that `settings` names.
Result<const calib::Calibrator*> asked_calibrator(const config::Settings& settings);

}  // namespace quarkq::pass

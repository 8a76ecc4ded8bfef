// SPDX-License-Identifier: MIT
// The phases before calibration, which quantize(), calibrate() and optimize() share: conversions of the whole model,
// samples that fit the result, and the guarded rewrites of it.
#pragma once

#include <memory>
#include <vector>

#include "pipeline/pass_runner.h"

namespace quarkq::pipeline {

/// The samples as they were opened, and as the converted model takes them.
struct Samples {
  std::unique_ptr<calib::DataReader> opened, fitted;
  /// Earlier `fitted` ones, which expected outputs still read.
  std::vector<std::unique_ptr<calib::DataReader>> retired;
  const calib::DataReader* probe = nullptr;  ///< what the guard runs, when that is not the samples

  const calib::DataReader* get() const { return fitted != nullptr ? fitted.get() : opened.get(); }
};

/// Makes `samples` fit the inputs of `converted`, which the phases before `prepare` made.
void fit(Samples& samples, const ir::Model& converted, const RunState& state);

/// Runs the phases up to `until`. state.source.data becomes the fitted samples. Returns the float model after the
/// conversions, whose inputs, outputs and function the quantized model has.
Result<ir::Model> run_float_phases(RunState& state, Samples& samples, pass::Phase until, std::vector<PassTime>& times,
                                   RunnerOptions options);

}  // namespace quarkq::pipeline

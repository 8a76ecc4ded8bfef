// SPDX-License-Identifier: MIT
// Common parts of the three forecasts: a run is tried on a few samples, and its duration for the others is extrapolated
// from the phases that read all samples.
#pragma once

#include <string>

#include "base/stopwatch.h"
#include "pipeline/run/run_state.h"
#include "quarkq/analyze.h"

namespace quarkq::pipeline {

/// Sufficient for two threads with a program each (calib/sample_run.cpp), the number of samples that run concurrently.
inline constexpr size_t kTriedSamples = 16;

/// Duration of a sample in the passes over all samples.
class SampleClock {
 public:
  /// Records progress. A pass has ended when fewer samples are done than before.
  void saw(size_t done);
  /// Returns the sum over all passes; 0 if there was none, or too few samples.
  double seconds_per_sample() const;

 private:
  // The first samples wait for compilation, one per thread that runs samples.
  static constexpr size_t kFirst = kTriedSamples / 8;

  double pass_seconds() const;

  Stopwatch watch_;
  size_t last_done_ = 0;
  double first_ = 0, last_ = 0;  ///< Times at which kFirst and `last_done_` samples were done.
  double passes_ = 0;            ///< Seconds per sample of the finished passes.
};

/// Fills in what happens to the nodes. `calibrated` is the model before phase restructure.
void describe_plan(const RunState& state, const ir::Graph& loaded, const ir::Graph& calibrated, Forecast& forecast);

}  // namespace quarkq::pipeline

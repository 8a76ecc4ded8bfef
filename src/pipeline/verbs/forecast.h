// SPDX-License-Identifier: MIT
// What the three forecasts share: a run is tried on a few samples; its time for the other ones is that of the samples
// in the phases that read all of them.
#pragma once

#include <string>

#include "base/stopwatch.h"
#include "pipeline/run/run_state.h"
#include "quarkq/analyze.h"

namespace quarkq::pipeline {

/// As many as give two threads a program each (calib/sample_run.cpp), which is how many samples run.
inline constexpr size_t kTriedSamples = 16;

/// How long a sample takes in the passes over all of them.
class SampleClock {
 public:
  /// A pass is over when fewer samples are done than before.
  void saw(size_t done);
  /// Of all passes together; 0 when there was none, or too few samples to say.
  double seconds_per_sample() const;

 private:
  // The first samples wait for programs to be compiled, one for each of the threads that run samples.
  static constexpr size_t kFirst = kTriedSamples / 8;

  double pass_seconds() const;

  Stopwatch watch_;
  size_t last_done_ = 0;
  double first_ = 0, last_ = 0;  ///< when kFirst and `last_done_` samples were done
  double passes_ = 0;            ///< seconds per sample of the passes that are over
};

/// Fills in what becomes of the nodes. `calibrated`: before phase restructure.
void describe_plan(const RunState& state, const ir::Graph& loaded, const ir::Graph& calibrated, Forecast& forecast);

/// The largest resident memory this process has had, in bytes; 0 when the system does not say.
uint64_t peak_memory();

}  // namespace quarkq::pipeline

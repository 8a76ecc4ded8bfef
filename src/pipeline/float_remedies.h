// SPDX-License-Identifier: MIT
// Remedies for poor outputs that change the float model, unlike those of rescue.h: the run starts once more from the
// loaded model, with another setting.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "pipeline/compare.h"
#include "pipeline/plan_model.h"
#include "pipeline/run_state.h"

namespace quarkq::pipeline {

struct FloatRemedy {
  const char* setting;                                              ///< "key=value"
  const char* text;                                                 ///< what it does, for messages
  bool (*is_open)(const RunState& state, const ir::Graph& loaded);  ///< may change something in this run
  void (*apply)(config::Settings& settings);
};
const std::vector<FloatRemedy>& float_remedies();

struct FloatRun {
  const ir::Model& loaded;
  Source& source;
  config::Settings& settings;  ///< of the state
  const ExpectedOutputs& expected;
  std::vector<PassTime>& times;
};

/// Plans `state` again with the remedy, up to phase write. When `keeps` says no to its outputs, everything is as it was
/// and the result is empty.
Result<std::optional<Agreement>> try_remedy(const FloatRemedy& remedy, RunState& state, const FloatRun& run,
                                            const std::function<bool(const Agreement&)>& keeps,
                                            const RunnerOptions& options);

}  // namespace quarkq::pipeline

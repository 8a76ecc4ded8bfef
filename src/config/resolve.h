// SPDX-License-Identifier: MIT
// QuantConfig + ModelFacts -> Settings: every absent value decided, every forced change made, every conflict refused.
#pragma once

#include <string>
#include <vector>

#include "base/diagnostics.h"
#include "config/quant_config.h"
#include "config/settings.h"

namespace quarkq::config {

/// The facts about the model that settings depend on.
struct ModelFacts {
  int opset = 17;
  bool all_float16 =
      false;  ///< inputs, outputs and initializers hold float16 and no float32 (ref:settings#float16-models)
  std::vector<std::string> op_types;
};

/// What holds. Errors: kInvalidArgument for a contradiction (both settings are named), kUnsupported for what quarkq
/// knows but cannot do yet. Notices: "option-left-out" for each effect that a preset or default implies and that is not
/// built, "option-no-effect"; warnings: "setting-forced".
Result<Settings> resolve(const QuantConfig& config, const ModelFacts& facts, Diagnostics& diagnostics);

/// The row of ref:settings#quantizers that fits.
Quantizer choose_quantizer(const Settings& settings);

// Findings about settings that are valid, but may not do what was intended: no effect here, or two that conflict. For
// `config check` and for warnings before a run. Settings that make a run impossible are refused by resolve().

/// Whose values are checked: a preset's, too, or only those that the user wrote.
enum class Asked { kAtAll, kByUser };

/// Adds one warning per finding: "option-no-effect" or "setting-conflict", with the setting as subject. Values that
/// nobody asked for give no finding.
void validate(const Settings& settings, Asked asked, Diagnostics& diagnostics);

}  // namespace quarkq::config

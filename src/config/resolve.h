// SPDX-License-Identifier: MIT
// QuantConfig + ModelFacts -> Settings: determines every absent value, makes every forced change, and rejects every
// conflict.
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
      false;  ///< Inputs, outputs and initializers contain float16 and no float32 (ref:settings#float16-models).
  std::vector<std::string> op_types;
};

/// Returns the effective settings. Fails with kInvalidArgument for a contradiction (the message names both settings),
/// and with kUnsupported for known but unsupported features. Notices: "option-left-out" for each unsupported effect
/// implied by a preset or default, "option-no-effect"; warnings: "setting-forced".
Result<Settings> resolve(const QuantConfig& config, const ModelFacts& facts, Diagnostics& diagnostics);

/// Returns the matching row of ref:settings#quantizers.
Quantizer choose_quantizer(const Settings& settings);

// Findings about valid settings that may not have the intended effect: settings without effect, and conflicts. For
// `config check` and for warnings before a run. resolve() rejects settings that make a run impossible.

/// Which values are checked: all, including the preset's, or only values set by the user.
enum class Asked { kAtAll, kByUser };

/// Adds one warning per finding: "option-no-effect" or "setting-conflict", with the setting as subject. Defaults are
/// not checked.
void validate(const Settings& settings, Asked asked, Diagnostics& diagnostics);

}  // namespace quarkq::config

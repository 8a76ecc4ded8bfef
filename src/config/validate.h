// SPDX-License-Identifier: MIT
// Findings about settings that are valid, but may not do what was intended: no effect here, or two that conflict. For
// `config check` and for warnings before a run. Settings that make a run impossible are refused by resolve().
#pragma once

#include "base/diagnostics.h"
#include "config/settings.h"

namespace quarkq::config {

/// Whose values are checked: a preset's, too, or only those that the user wrote.
enum class Asked { kAtAll, kByUser };

/// Adds one warning per finding: "option-no-effect" or "setting-conflict", with the setting as subject. Values that
/// nobody asked for give no finding.
void validate(const Settings& settings, Asked asked, Diagnostics& diagnostics);

}  // namespace quarkq::config

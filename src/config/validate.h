// SPDX-License-Identifier: MIT
// Findings about settings that hold, but may not do what was meant: no effect here, or two that pull apart. For `config
// check` and for warnings before a run. What makes a run impossible is resolve()'s business, not this one's.
#pragma once

#include "base/diagnostics.h"
#include "config/settings.h"

namespace quarkq::config {

/// Whose values are looked at: a preset's, too, or only those that the user wrote.
enum class Asked { kAtAll, kByUser };

/// Adds one warning per finding: "option-no-effect" or "setting-conflict", with the setting as subject. Values that
/// nobody asked for give no finding.
void validate(const Settings& settings, Asked asked, Diagnostics& diagnostics);

}  // namespace quarkq::config

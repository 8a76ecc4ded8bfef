// SPDX-License-Identifier: MIT
// The report of check_target() on a terminal.
#pragma once

#include "quarkq/check_target.h"

namespace quarkq::tool {

/// The verdict in the first line; then findings, regions, and what does not run, folded by operator and reason.
void print_target_report(const TargetReport& report);

}  // namespace quarkq::tool

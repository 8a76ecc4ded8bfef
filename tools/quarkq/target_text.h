// SPDX-License-Identifier: MIT
// The report of check_target() on a terminal.
#pragma once

#include <string>

#include "quarkq/check_target.h"

namespace quarkq::tool {

/// "runs partly: 53 of 55 nodes on the NPU, 2 regions".
std::string target_verdict(const TargetReport& report);

/// The verdict in the first line; then findings, regions, and what does not run, folded by operator and reason.
void print_target_report(const TargetReport& report);

}  // namespace quarkq::tool

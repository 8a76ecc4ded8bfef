// SPDX-License-Identifier: MIT
// The report of check_target() on a terminal.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "config/print.h"
#include "quarkq/check.h"
#include "quarkq/ep_report.h"

namespace quarkq::tool {

/// Returns "runs partly: 53 of 55 nodes on the NPU, 2 regions".
std::string target_verdict(const TargetReport& report);

/// Prints the verdict in the first line, then findings, regions, and nodes that do not run, folded by operator and
/// reason.
void print_target_report(const TargetReport& report);

/// Prints the reported placement next to the prediction, the agreement, and every difference with the row of the target
/// that decided the prediction.
void print_ep_report(const EpReport& report);

/// The listings about targets of `check --target`. `name` is a built-in target or a target file.
Result<std::vector<config::TextRow>> list_targets(const std::string& unused);
Result<std::vector<config::TextRow>> list_target_ops(const std::string& name);
Result<std::vector<config::TextRow>> list_target_rules(const std::string& name);
Result<std::vector<config::TextRow>> list_target_options(const std::string& name);
Result<std::vector<config::TextRow>> list_target_settings(const std::string& name);
/// The sources of a target's facts with their dates and ages, the newest first.
Result<std::vector<config::TextRow>> list_target_sources(const std::string& name);
Result<std::vector<config::TextRow>> list_remedies(const std::string& unused);

}  // namespace quarkq::tool

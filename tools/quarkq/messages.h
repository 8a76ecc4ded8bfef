// SPDX-License-Identifier: MIT
// What is written to stderr: errors, findings and phases, as far as --log-level wants them, in colour on a terminal.
#pragma once

#include <string>
#include <vector>

#include "base/diagnostics.h"
#include "quarkq/quantize_report.h"

namespace quarkq::tool {

/// Each level contains those before it.
enum class LogLevel { kError, kWarning, kNotice, kInfo };

/// By level.
inline const std::vector<std::string> kLogLevelNames = {"error", "warning", "notice", "info"};

/// REQUIRES: one of kLogLevelNames.
void set_log_level(const std::string& name);
bool is_logged(LogLevel level);

/// -q: errors only, and no summary of what was written.
void set_quiet();
bool is_quiet();
/// -v: findings are not folded, and phases are timed.
void set_verbose();
bool is_verbose();

/// "quarkq: error: text".
void print_error(const char* kind, const std::string& text);

/// Findings of a report, those of one id folded into one line: the first, how many more there are and, with `hint`,
/// where, and what to do. Effects that a preset implies and that are not built yet come in one line.
void print_findings(const std::vector<Finding>& findings, const char* hint = "--json has them all");

}  // namespace quarkq::tool

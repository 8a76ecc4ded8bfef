// SPDX-License-Identifier: MIT
// Results as text: --json[=FILE] of every verb, and files that are opened before the work begins, so that a place that
// cannot be written must not cost a whole run.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/diagnostics.h"
#include "base/file_system.h"
#include "quarkq/quantize_report.h"

namespace quarkq::tool {

// What is written to stderr: errors, findings and phases, as far as --log-level wants them, in colour on a terminal.

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

/// Standard output, as a place.
inline constexpr const char kStdout[] = "-";

/// --json: the result as JSON and nothing else to stdout; --json=FILE: to that file, beside the text. `place` becomes
/// "-" or FILE.
void add_json_option(CLI::App& app, std::string& place);

/// Whether the text for people is printed: not with -q, nor beside JSON on stdout.
bool prints_text(const std::string& json_place);

/// A result that is complete or absent.
class TextOutput {
 public:
  /// `place` "" is no output, "-" is stdout. Inputs are never overwritten (verb.h).
  static Result<TextOutput> open(const std::string& place);
  bool is_open() const { return file_.has_value() || is_stdout_; }
  /// Nothing when it is not open.
  Status write(const std::string& text);

 private:
  std::optional<AtomicFile> file_;
  bool is_stdout_ = false;
};

/// Refuses "-" as the place of a model or another binary result.
Status check_is_file(const char* option, const std::string& place);

}  // namespace quarkq::tool

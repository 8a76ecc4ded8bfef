// SPDX-License-Identifier: MIT
// Results as text: --json[=FILE] of every verb, and files that are opened before the work begins, so that a path that
// is not writable does not cost a whole run.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/diagnostics.h"
#include "base/file_system.h"
#include "quarkq/quantize_report.h"

namespace quarkq::tool {

// Output to stderr: errors, findings and phases, filtered by --log-level, in colour on a terminal.

/// Each level includes the preceding levels.
enum class LogLevel { kError, kWarning, kNotice, kInfo };

/// Indexed by level.
inline const std::vector<std::string> kLogLevelNames = {"error", "warning", "notice", "info"};

/// REQUIRES: one of kLogLevelNames.
void set_log_level(const std::string& name);
bool is_logged(LogLevel level);

/// For -q: prints errors only, and no summary.
void set_quiet();
bool is_quiet();
/// For -v: prints every finding and the time of each phase.
void set_verbose();
bool is_verbose();

/// Prints "quarkq: error: text".
void print_error(const char* kind, const std::string& text);

/// Prints the findings of a report. Findings with the same id are folded into one line: the first finding, the number
/// of others, `hint`, and the remedy. Unsupported effects that a preset implies are printed in one line.
void print_findings(const std::vector<Finding>& findings, const char* hint = "--json has them all");

/// Standard output as a path.
inline constexpr const char kStdout[] = "-";

/// Adds --json, which prints only the result as JSON to stdout, and --json=FILE, which writes it to a file in addition
/// to the text. `place` becomes "-" or FILE.
void add_json_option(CLI::App& app, std::string& place);

/// Returns whether the text output is printed: not with -q, and not if JSON is printed to stdout.
bool prints_text(const std::string& json_place);

/// A result that is complete or absent.
class TextOutput {
 public:
  /// Opens `place`: an empty string means no output, "-" means stdout. Inputs are never overwritten (verb.h).
  static Result<TextOutput> open(const std::string& place);
  bool is_open() const { return file_.has_value() || is_stdout_; }
  /// Does nothing if it is not open.
  Status write(const std::string& text);

 private:
  std::optional<AtomicFile> file_;
  bool is_stdout_ = false;
};

/// Rejects "-" as the path of a model or another binary result.
Status check_is_file(const char* option, const std::string& place);

}  // namespace quarkq::tool

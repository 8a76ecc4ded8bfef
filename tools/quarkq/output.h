// SPDX-License-Identifier: MIT
// Results as text: --json[=FILE] of every verb, and files that are opened before the work begins, so that a place that
// cannot be written must not cost a whole run.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/file_system.h"

namespace quarkq::tool {

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
  /// `place` "" is no output, "-" is stdout. Inputs are never overwritten (places.h).
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

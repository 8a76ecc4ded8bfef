// SPDX-License-Identifier: MIT
// Runs another program and captures its output, without a shell.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/error.h"

namespace quarkq {

/// Splits a command line into words like a shell: blanks separate words, '...' and "..." quote, and \ escapes the next
/// character (inside "..." only " and \). Nothing is expanded. Fails with kInvalidArgument if a quote is not closed or
/// there is no word.
Result<std::vector<std::string>> command_words(const std::string& line);

struct CommandOptions {
  double seconds = 600;                   ///< Timeout after which the program is ended.
  size_t most_output = 1 << 20;           ///< Upper bound on the bytes of standard output; more is an error.
  std::function<bool()> keep_going = {};  ///< Called a few times per second; returning false ends the program.
};

struct CommandResult {
  int exit_code = 0;       ///< 128 + signal if a signal ended the program.
  std::string output;      ///< Standard output.
  std::string last_lines;  ///< The end of standard error: at most 10 lines and 2000 characters.
};

/// Runs words[0], searched in PATH, with the other words as arguments and empty standard input. The program and its
/// children are ended on a timeout (kBadData) or if `keep_going` returns false (kInterrupted). Fails with
/// kInvalidArgument if the program cannot be started. REQUIRES: words is not empty.
Result<CommandResult> run_command(const std::vector<std::string>& words, const CommandOptions& options);

}  // namespace quarkq

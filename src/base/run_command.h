// SPDX-License-Identifier: MIT
// Runs another program and collects what it prints. No shell takes part.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/error.h"

namespace quarkq {

/// The words of a command line as a shell would separate them: blanks separate; what stands in '...' or "..." is taken
/// as it is; \ takes the next character as it is, inside "..." only before " and \. Nothing is expanded. Fails with
/// kInvalidArgument when a quote is not closed or there is no word.
Result<std::vector<std::string>> command_words(const std::string& line);

struct CommandOptions {
  double seconds = 600;                   ///< after that long the program is ended
  size_t most_output = 1 << 20;           ///< bytes of standard output that are kept; more are an error
  std::function<bool()> keep_going = {};  ///< asked a few times a second; false ends the program
};

struct CommandResult {
  int exit_code = 0;       ///< 128 + signal when a signal ended it
  std::string output;      ///< standard output
  std::string last_lines;  ///< the end of standard error: at most 10 lines, 2000 characters
};

/// Runs words[0], looked for in PATH, with the rest as its arguments; standard input is empty. The program and what it
/// started are ended when it takes too long (kBadData) or when it is no longer wanted (kInterrupted). Fails with
/// kInvalidArgument when it cannot be started. REQUIRES: words is not empty.
Result<CommandResult> run_command(const std::vector<std::string>& words, const CommandOptions& options);

}  // namespace quarkq

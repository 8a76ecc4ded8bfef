// SPDX-License-Identifier: MIT
// The command line as data, from which completion scripts and the manual page are made.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace quarkq::tool {

struct CommandOption {
  std::vector<std::string> names;  ///< With their dashes, short ones first; empty for a positional argument.
  std::string placeholder;         ///< Placeholder of a positional argument.
  std::string summary;
  bool takes_value = false;
  std::vector<std::string> values;  ///< Values for completion; if empty, a file may follow.

  bool is_positional() const { return names.empty(); }
};

struct Command {
  std::string name, summary;
  std::vector<CommandOption> options;
};

/// Returns every verb, in the order of the help text. The options of `app`, the whole program, are added to each.
std::vector<Command> command_tree(const CLI::App& app);

}  // namespace quarkq::tool

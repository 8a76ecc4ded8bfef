// SPDX-License-Identifier: MIT
// The command line as data: what completion scripts and the manual page are made of.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace quarkq::tool {

struct CommandOption {
  std::vector<std::string> names;  ///< with their dashes, short ones first; empty: positional
  std::string placeholder;         ///< of a positional
  std::string summary;
  bool takes_value = false;
  std::vector<std::string> values;  ///< that can be completed; else a file may follow

  bool is_positional() const { return names.empty(); }
};

struct Command {
  std::string name, summary;
  std::vector<CommandOption> options;
};

/// Every verb, in the order of the help text; the options of `app` itself are added to each. `app`: the whole program.
std::vector<Command> command_tree(const CLI::App& app);

}  // namespace quarkq::tool

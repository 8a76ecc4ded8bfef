// SPDX-License-Identifier: MIT
// The interface of the program as data: completion scripts, the manual page and `list api` are made from it.
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

/// An exit code of the program.
struct ExitCode {
  const char *code, *meaning;
};
const std::vector<ExitCode>& exit_codes();

/// A file of the repository that the program contains.
struct EmbeddedText {
  const char* stem;  ///< File name up to its first dot: "evaluate", "SKILL".
  const char* text;
};
const std::vector<EmbeddedText>& embedded_schemas();  ///< docs/schemas
const std::vector<EmbeddedText>& embedded_skills();   ///< skills/quarkq

/// Returns every verb, in the order of the help text. The options of `app`, the whole program, are added to each.
std::vector<Command> command_tree(const CLI::App& app);

}  // namespace quarkq::tool

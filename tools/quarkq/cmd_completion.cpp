// SPDX-License-Identifier: MIT
// quarkq completion: scripts for bash, zsh and fish, made from the options that the verbs declare.
#include <cstdio>
#include <map>
#include <memory>

#include "base/strings.h"
#include "command_tree.h"
#include "verb.h"

namespace quarkq::tool {
namespace {

using Commands = std::vector<Command>;

/// Returns the text as one shell word in single quotes.
std::string shell_quoted(const std::string& text) {
  std::string result = "'";
  for (const char c : text) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result + "'";
}

std::string names_of(const Commands& commands) {
  std::vector<std::string> names;
  for (const Command& command : commands) names.push_back(command.name);
  return join(names, " ");
}

std::string bash_script(const Commands& commands) {
  std::map<std::string, std::string> values;  // an option's values are the same for each verb that has it
  std::string cases, words;
  for (const Command& command : commands) {
    std::vector<std::string> options;
    std::string first;
    for (const CommandOption& option : command.options) {
      options.insert(options.end(), option.names.begin(), option.names.end());
      if (option.values.empty()) continue;
      if (option.is_positional()) {
        first = join(option.values, " ");
      } else {
        values[option.names.back()] = join(option.values, " ");
      }
    }
    words += cat("      ", command.name, ") options=", shell_quoted(join(options, " ")), " words=", shell_quoted(first),
                 " ;;\n");
  }
  for (const auto& [name, known] : values) cases += cat("    ", name, ") words=", shell_quoted(known), " ;;\n");
  return cat(
      "# bash completion of quarkq; put it into ~/.local/share/bash-completion/completions/quarkq\n"
      "_quarkq() {\n"
      "  local cur=${COMP_WORDS[COMP_CWORD]} verb=${COMP_WORDS[1]} words='' options=''\n"
      "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
      "    COMPREPLY=($(compgen -W ",
      shell_quoted(names_of(commands) + " --help --version"),
      " -- \"$cur\"))\n"
      "    return\n"
      "  fi\n"
      "  case \"${COMP_WORDS[COMP_CWORD-1]}\" in\n",
      cases, "    *) case \"$verb\" in\n", words,
      "    esac\n"
      "    case \"$cur\" in -*) words=$options ;; esac ;;\n"
      "  esac\n"
      "  COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
      "}\n"
      "complete -o default -F _quarkq quarkq\n");
}

std::string zsh_argument(const CommandOption& option) {
  std::string summary;
  for (const char c : option.summary) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') summary += '\\';
    summary += c;
  }
  const std::string action = option.values.empty() ? "_files" : "(" + join(option.values, " ") + ")";
  if (option.is_positional()) return shell_quoted("*:" + summary + ":" + action);
  std::vector<std::string> arguments;
  for (const std::string& name : option.names) {
    const std::string takes = !option.takes_value ? "" : name.starts_with("--") ? "=" : "+";
    arguments.push_back(shell_quoted(
        cat("*", name, takes, "[", summary, "]", option.takes_value ? cat(":value:", action) : std::string())));
  }
  return join(arguments, " ");
}

std::string zsh_script(const Commands& commands) {
  std::string verbs, cases;
  for (const Command& command : commands) {
    verbs += cat("    ", shell_quoted(command.name + ":" + command.summary), "\n");
    cases += cat("    ", command.name, ") _arguments");
    for (const CommandOption& option : command.options) cases += cat(" \\\n      ", zsh_argument(option));
    cases += " ;;\n";
  }
  return cat(
      "#compdef quarkq\n"
      "# zsh completion of quarkq; put it as _quarkq into a folder of $fpath\n"
      "_quarkq() {\n"
      "  local -a verbs=(\n",
      verbs,
      "  )\n"
      "  if (( CURRENT == 2 )); then\n"
      "    _describe verb verbs\n"
      "    return\n"
      "  fi\n"
      "  local verb=$words[2]\n"
      "  shift words\n"
      "  (( CURRENT-- ))\n"
      "  case $verb in\n",
      cases,
      "  esac\n"
      "}\n"
      "if [ \"$funcstack[1]\" = _quarkq ]; then _quarkq \"$@\"; else compdef _quarkq quarkq; fi\n");
}

std::string fish_script(const Commands& commands) {
  std::string script = "# fish completion of quarkq; put it into ~/.config/fish/completions/quarkq.fish\n";
  const std::string none = shell_quoted("__fish_use_subcommand");
  for (const Command& command : commands) {
    script += cat("complete -c quarkq -f -n ", none, " -a ", command.name, " -d ", shell_quoted(command.summary), "\n");
    const std::string seen = shell_quoted("__fish_seen_subcommand_from " + command.name);
    for (const CommandOption& option : command.options) {
      script += cat("complete -c quarkq -n ", seen);
      for (const std::string& name : option.names)
        script += name.starts_with("--") ? cat(" -l ", name.substr(2)) : cat(" -s ", name.substr(1));
      if (!option.values.empty()) script += cat(" -a ", shell_quoted(join(option.values, " ")));
      if (option.takes_value && !option.is_positional()) script += " -r";
      script += cat(" -d ", shell_quoted(option.summary), "\n");
    }
  }
  return script;
}

constexpr struct {
  const char* name;
  std::string (*script)(const Commands& commands);
} kShells[] = {{"bash", bash_script}, {"zsh", zsh_script}, {"fish", fish_script}};

Status run_completion(const std::string& shell, const CLI::App& program) {
  std::vector<std::string> names;
  for (const auto& row : kShells) {
    if (shell == row.name) {
      std::fputs(row.script(command_tree(program)).c_str(), stdout);
      return Status();
    }
    names.emplace_back(row.name);
  }
  return invalid_argument(shell, ": unknown shell", did_you_mean(shell, names), " (known: ", join(names, ", "), ")");
}

}  // namespace

Run setup_completion(CLI::App& app) {
  auto shell = std::make_shared<std::string>();
  app.add_option("SHELL", *shell, "bash, zsh or fish")->required();
  return [shell, &app] { return run_completion(*shell, *app.get_parent()); };
}

}  // namespace quarkq::tool

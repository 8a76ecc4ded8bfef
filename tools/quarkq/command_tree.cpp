// SPDX-License-Identifier: MIT
#include "command_tree.h"

#include <algorithm>
#include <iterator>
#include <string_view>

#include "base/strings.h"
#include "config/fields.h"
#include "config/preprocess.h"
#include "config/preset.h"
#include "config/targets/target.h"
#include "metrics/detect/heads.h"
#include "metrics/metric_table.h"
#include "output.h"
#include "pipeline/run/conversions.h"
#include "pipeline/run/pass_runner.h"
#include "quarkq/check.h"

namespace quarkq::tool {
namespace {

/// In both cases, as both are understood.
std::vector<std::string> preset_names() {
  std::vector<std::string> names;
  for (const config::PresetInfo& preset : config::presets()) {
    names.push_back(lower_case(preset.name));
    names.emplace_back(preset.name);
  }
  return names;
}

/// The column `name` of a table.
template <typename Table>
std::vector<std::string> names_in(const Table& table) {
  std::vector<std::string> names;
  names.reserve(std::size(table));
  for (const auto& row : table) names.emplace_back(row.name);
  return names;
}

std::vector<std::string> pass_names() { return names_in(pipeline::all_passes()); }

/// Offers 1 and 5 for the number that a K at the end of a name means.
std::vector<std::string> metric_names() {
  std::vector<std::string> names;
  for (std::string name : names_in(metrics::metric_table())) {
    if (name.ends_with('K')) {
      name.back() = '1';
      names.push_back(name);
      name.back() = '5';
    }
    names.push_back(name);
  }
  return names;
}

std::vector<std::string> target_and_limit_names() {
  std::vector<std::string> names = config::target_names();
  names.emplace_back(kPositionLimits);
  return names;
}

/// Values that a table of the program has; a row without verb holds for all that have none of their own before it.
constexpr struct {
  std::string_view verb, option;
  std::vector<std::string> (*values)();
} kTables[] = {
    {"", "--config", preset_names},
    {"", "--preprocess", [] { return names_in(config::preprocess_recipes()); }},
    {"", "--set", [] { return names_in(config::all_fields()); }},
    {"convert", "--pass", [] { return names_in(pipeline::all_conversions()); }},
    {"", "--pass", pass_names},
    {"", "--skip", pass_names},
    {"", "--dump-after", pass_names},
    {"", "--target", target_and_limit_names},
    {"", "--metric", metric_names},
    {"", "--head", [] { return names_in(metrics::head_table()); }},
};

/// Values of options and positionals that come from a fixed set; a row without verb holds for all of them.
constexpr struct {
  std::string_view verb, option, values;
} kValues[] = {
    {"", "--isa", "sse41 avx2 avx512 native"},
    {"", "--backend", "native ort ort:cuda ort:dml ort:vitisai"},
    {"list", "WHAT",
     "api presets recipes options passes conversions listed-passes ops formats calibrators metrics heads quirks "
     "diagnostics targets target-ops "
     "target-rules "
     "target-options target-sources remedies"},
    {"completion", "SHELL", "bash zsh fish"},
    {"skill", "AGENT", "claude codex cursor"},
};

std::vector<std::string> values_of(const std::string& verb, const std::string& option) {
  for (const auto& table : kTables) {
    if (table.option == option && (table.verb.empty() || table.verb == verb)) return table.values();
  }
  if (option == "--log-level") return kLogLevelNames;
  for (const config::Field& field : config::all_fields()) {
    if (field.flag == option && *field.allowed.choices != '\0') return split(field.allowed.choices, ' ');
  }
  for (const auto& row : kValues) {
    if (row.option == option && (row.verb.empty() || row.verb == verb))
      return CLI::detail::split(std::string(row.values), ' ');
  }
  return {};
}

CommandOption describe(const std::string& verb, const CLI::Option& option) {
  CommandOption described;
  for (const std::string& name : option.get_snames()) described.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) described.names.push_back("--" + name);
  if (option.get_positional()) described.placeholder = option.get_name(/*positional=*/true);
  described.summary = option.get_description();
  described.takes_value = option.get_items_expected_max() > 0;
  described.values = values_of(verb, described.is_positional() ? described.placeholder : described.names.back());
  return described;
}

std::vector<const CLI::App*> parts_of(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

void add_options(const CLI::App& part, Command& command) {
  for (const CLI::Option* option : part.get_options()) {
    CommandOption described = describe(command.name, *option);
    const bool is_known = std::any_of(command.options.begin(), command.options.end(), [&](const CommandOption& other) {
      return other.names == described.names && other.placeholder == described.placeholder;
    });
    if (!is_known && !option->check_lname("version")) command.options.push_back(std::move(described));
  }
}

}  // namespace

std::vector<Command> command_tree(const CLI::App& app) {
  std::vector<Command> commands;
  std::vector<std::string> verbs;
  for (const CLI::App* verb : parts_of(app)) verbs.push_back(verb->get_name());
  for (const CLI::App* verb : parts_of(app)) {
    Command command{verb->get_name(), verb->get_description(), {}};
    const std::vector<const CLI::App*> actions = parts_of(*verb);
    if (!actions.empty()) {
      CommandOption action{{}, "ACTION", "what to do", true, {}};
      for (const CLI::App* part : actions) action.values.push_back(part->get_name());
      command.options.push_back(std::move(action));
    }
    add_options(*verb, command);
    for (const CLI::App* part : actions) add_options(*part, command);
    add_options(app, command);
    for (CommandOption& option : command.options) {
      if (command.name == "help" && option.is_positional()) option.values = verbs;
    }
    commands.push_back(std::move(command));
  }
  return commands;
}

}  // namespace quarkq::tool

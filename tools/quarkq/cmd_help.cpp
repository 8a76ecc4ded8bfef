// SPDX-License-Identifier: MIT
// quarkq help [VERB]: what --help prints.
#include <cstdio>
#include <memory>

#include "base/suggest.h"
#include "terminal.h"
#include "verb.h"

namespace quarkq::tool {
namespace {

void print_help(const std::string& text) { std::fputs(wrapped_help(text, columns_of(stdout)).c_str(), stdout); }

Status run_help(const std::string& verb, const CLI::App& program) {
  if (verb.empty()) {
    // program.help() shows the help of the verb that was given: help
    print_help(program.get_formatter()->make_help(&program, program.get_name(), CLI::AppFormatMode::Normal));
    return Status();
  }
  std::vector<std::string> names;
  for (const CLI::App* part : program.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(part->get_name());
    if (names.back() != verb) continue;
    print_help(part->help(program.get_name()));
    return Status();
  }
  return invalid_argument(verb, ": unknown verb", did_you_mean(verb, names), " (known: ", join(names, ", "), ")");
}

}  // namespace

Run setup_help(CLI::App& app) {
  auto verb = std::make_shared<std::string>();
  app.add_option("VERB", *verb, "the verb to explain (default: all of them)");
  return [verb, &app] { return run_help(*verb, *app.get_parent()); };
}

}  // namespace quarkq::tool

// SPDX-License-Identifier: MIT
// quarkq help [VERB]: what --help prints.
#include <cstdio>
#include <memory>

#include "base/strings.h"
#include "command_tree.h"
#include "quarkq/status.h"
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

// quarkq man: the manual page, made from the options that the verbs declare.

namespace {

/// Text in roff's terms: dashes that can be copied, no line that reads as a request.
std::string roff(const std::string& text) {
  std::string result = text.starts_with('.') || text.starts_with('\'') ? "\\&" : "";
  for (const char c : text) {
    if (c == '-' || c == '\\') result += '\\';
    result += c == '\\' ? 'e' : c;
  }
  return result;
}

std::string option_text(const CommandOption& option) {
  std::vector<std::string> names = option.names;
  if (option.is_positional()) names = {option.placeholder};
  for (std::string& name : names) name = "\\fB" + roff(name) + "\\fR";
  std::string text = cat(".TP\n", join(names, ", "));
  if (option.takes_value && !option.is_positional()) text += " \\fIVALUE\\fR";
  return cat(text, "\n", roff(option.summary), "\n");
}

}  // namespace

const std::vector<ExitCode>& exit_codes() {
  static const std::vector<ExitCode> codes = {
      {"0", "done; also when there was nothing to quantize, and the float model was copied"},
      {"1", "internal error, or the machine refused a file operation"},
      {"2", "wrong usage or setting; a model, settings file or report that is not there"},
      {"3", "model refused: malformed or not supported"},
      {"4", "calibration or result data bad, or not there"},
      {"5", "a required quality was missed"},
      {"6", "an NPU limit is violated"},
      {"7", "a memory or size limit was hit"},
      {"130", "interrupted"},
  };
  return codes;
}

namespace {

std::string man_page(const std::vector<Command>& commands) {
  std::string page =
      cat(".TH QUARKQ 1 \"\" \"quarkq ", version(),
          "\" \"User Commands\"\n.SH NAME\nquarkq \\- quantizer of ONNX models for "
          "AMD NPU tool chains and ONNX Runtime\n.SH SYNOPSIS\n.B quarkq\n\\fIVERB\\fR "
          "[\\fIOPTION\\fR]...\n.SH DESCRIPTION\n"
          "Turns a float ONNX model into a quantized one, and reports how close it is. Settings come from "
          "a preset, a YAML or JSON "
          "file, and\n.BR \\-\\-set ,\neach stronger than the one before.\n.SH VERBS\n");
  for (const Command& command : commands) {
    page += cat(".SS quarkq ", command.name, "\n", roff(command.summary), "\n");
    for (const CommandOption& option : command.options) page += option_text(option);
  }
  page += ".SH EXIT STATUS\n";
  for (const ExitCode& row : exit_codes()) page += cat(".TP\n.B ", row.code, "\n", roff(row.meaning), "\n");
  page +=
      ".SH ENVIRONMENT\n.TP\n.B NO_COLOR\nWhen set, messages have no colours.\n.TP\n.B OMP_WAIT_POLICY, "
      "GOMP_SPINCOUNT\n"
      "How threads wait; by default they spin for 0.05 ms at most, then sleep.\n";
  return page;
}

}  // namespace

Run setup_man(CLI::App& app) {
  return [&app] {
    std::fputs(man_page(command_tree(*app.get_parent())).c_str(), stdout);
    return Status();
  };
}

}  // namespace quarkq::tool

// SPDX-License-Identifier: MIT
// quarkq: the verb table and nothing else. Each verb is one cmd_<verb>.cpp.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/platform/console.h"
#include "base/stopwatch.h"
#include "base/strings.h"
#include "log_file.h"
#include "memory_ceiling.h"
#include "onnx_io/load.h"
#include "quarkq/status.h"
#include "run_control.h"
#include "sandbox.h"
#include "terminal.h"
#include "verb.h"

namespace quarkq::tool {
namespace {

// Messages for a command line that cannot be parsed.

/// "quarkq config show".
std::string full_name(const CLI::App& part) {
  return part.get_parent() == nullptr ? part.get_name() : full_name(*part.get_parent()) + " " + part.get_name();
}

/// The option that `argument` spells; empty when it is a value: a number may begin with a dash.
std::string option_name(const std::string& argument) {
  if (argument.size() < 2 || argument[0] != '-') return "";
  if (argument.starts_with("--")) return argument.substr(0, argument.find('='));
  return std::isalpha(static_cast<unsigned char>(argument[1])) != 0 ? argument.substr(0, 2) : "";
}

bool has_option(const CLI::App* part, const std::string& name) {
  for (; part != nullptr; part = part->get_parent()) {
    if (part->get_option_no_throw(name) != nullptr) return true;
  }
  return false;
}

std::string upper(std::string text) {
  for (char& letter : text) letter = static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
  return text;
}

std::vector<std::string> long_names(const CLI::App* part) {
  std::vector<std::string> names;
  for (; part != nullptr; part = part->get_parent()) {
    for (const CLI::Option* option : part->get_options()) {
      for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    }
  }
  return names;
}

/// Types of options whose value is a text: a path, a name or a list of settings. Every other type has a value that is
/// never empty.
bool takes_text(const CLI::Option& option) {
  constexpr std::string_view kTexts[] = {"TEXT", "DIR", "NAME|FILE", "FILE", "[=FILE]", "native|ort", "INPUT="};
  const std::string type = option.get_type_name();
  return type.empty() || std::ranges::any_of(kTexts, [&](std::string_view text) { return type.starts_with(text); });
}

bool is_nan(const std::string& text) {
  char* end = nullptr;
  return std::isnan(std::strtod(text.c_str(), &end)) && end != text.c_str() && *end == '\0';
}

/// Options of other tools, and what has their effect here.
constexpr std::pair<std::string_view, std::string_view> kInstead[] = {{"--exclude", "--set 'exclude=[NODE]'"}};

std::string instead_of(const std::string& name, const std::vector<std::string>& known) {
  const auto* const row = std::ranges::find(kInstead, name, [](const auto& one) { return one.first; });
  return row == std::end(kInstead) ? did_you_mean(name, known) : cat(", pass ", row->second);
}

/// Help with the type of a value once, without the library's notes on checks and counts.
class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_option_opts(const CLI::Option* option) const override {
    constexpr std::pair<std::string_view, std::string_view> kShorter[] = {
        {":NONNEGATIVE", ""}, {"FLOAT:FLOAT in", "FLOAT in"}, {":INT in", " in"}};
    std::string text = Formatter::make_option_opts(option);
    for (const auto& [from, to] : kShorter) {
      if (const size_t at = text.find(from); at != std::string::npos) text.replace(at, from.size(), to);
    }
    return text;
  }
  std::string make_option_usage(const CLI::Option* option) const override {
    const std::string name = make_option_name(option, /*is_positional=*/true);
    return option->get_required() ? name : cat("[", name, "]");
  }
};

/// How --help is written. Verbs that are added later have it, too.
std::shared_ptr<CLI::FormatterBase> help_formatter() { return std::make_shared<HelpFormatter>(); }

/// "usage: quarkq quantize [OPTION]... --config CONFIG MODEL": required options and positionals.
std::string usage_line(const CLI::App& part) {
  std::string text = cat("usage: ", full_name(part), " [OPTION]...");
  if (!part.get_subcommands([](const CLI::App*) { return true; }).empty()) text += " VERB";
  for (const CLI::Option* option : part.get_options()) {
    if (!option->get_positional() && option->get_required())
      text += cat(" ", option->get_name(), " ", upper(option->get_lnames().front()));
  }
  for (const CLI::Option* option : part.get_options()) {
    if (option->get_positional()) text += " " + option->get_name(/*positional=*/true);
  }
  return text;
}

/// The verb, or its action, that `arguments` (without the program's name) name; `app` when they name none.
const CLI::App& part_of(const CLI::App& app, const std::vector<std::string>& arguments) {
  const CLI::App* part = &app;
  for (const std::string& word : arguments) {
    if (word.empty() || word[0] == '-') continue;
    const auto parts = part->get_subcommands([&](const CLI::App* one) { return one->get_name() == word; });
    if (!parts.empty()) part = parts.front();
  }
  return *part;
}

/// Fails with kInvalidArgument if an option that takes a number, a time, a size or a goal was given an empty text or
/// NaN: the parser would take them for "not given", and a gate would be off without a word.
Status check_values(const CLI::App& part) {
  for (const CLI::Option* option : part.get_options()) {
    if (option->count() == 0 || option->get_items_expected_max() == 0 || takes_text(*option)) continue;
    for (const std::string& value : option->results()) {
      if (value.empty() || is_nan(value))
        return invalid_argument(option->get_name(), ": found ", value.empty() ? "an empty text" : value,
                                ", allowed is a value; leave the option out to set none");
    }
  }
  return part.get_parent() == nullptr ? Status() : check_values(*part.get_parent());
}

/// kInvalidArgument for the first option that `part` and what it belongs to do not have, with the nearest one; ok when
/// all are known. A misspelt option must not show as another one that is missing.
Status check_options_known(const CLI::App& part, const std::vector<std::string>& arguments) {
  for (const std::string& argument : arguments) {
    if (argument == "--") break;
    const std::string name = option_name(argument);
    if (name.empty() || has_option(&part, name)) continue;
    return invalid_argument(name, ": unknown option of ", full_name(part), instead_of(name, long_names(&part)));
  }
  return Status();
}

constexpr Verb kVerbs[] = {
    {"quantize", "turn a float ONNX model into a quantized one", setup_quantize, true},
    {"calibrate", "write statistics of samples, or of a shard of them, to a file", setup_calibrate, true},
    {"merge", "merge the statistics of shards", setup_merge, false},
    {"import", "write a quantized model of another tool for a target, with its own scales", setup_import, true},
    {"convert", "convert a finished model by named passes: remove Q/DQ, other types, operators on integers, text",
     setup_convert, true},
    {"optimize", "only rewrite the float model, as quantize would", setup_optimize, true},
    {"run", "run a float or quantized model over a folder of samples", setup_run, true},
    {"evaluate", "compare two folders of results, or two models; score them with metrics", setup_evaluate, true},
    {"inspect", "describe a model and which of its tensors are quantized and how", setup_inspect, false},
    {"check", "check a quantized model against the limits of an NPU", setup_check, false},
    {"analyze", "find the layers that degrade the outputs most", setup_analyze, true},
    {"tune", "try settings until a metric of yours meets a goal", setup_tune, true},
    {"plan", "show the trials of tune and their cost", setup_plan, true},
    {"report", "turn the JSON report of a quantize run into an HTML page", setup_report, false},
    {"list", "list presets, recipes, options, passes, ops, formats, calibrators, metrics, quirks, diagnostics",
     setup_list, false},
    {"config", "show the settings of a preset or file, or check a file", setup_config, false},
    {"skill", "write a page about quarkq for coding assistants into a project", setup_skill, false},
    {"completion", "print the completion script of a shell", setup_completion, false},
    {"man", "print the manual page", setup_man, false},
    {"help", "show the options of a verb", setup_help, false},
};

int fail(const Status& failed) {
  const Status late = failed.code() == Code::kInterrupted ? timeout_status() : Status();
  const Status& status = late.ok() ? failed : late;
  if (status.code() == Code::kInterrupted) {
    const bool has_more = status.message() != "interrupted";
    std::fprintf(stderr, "quarkq: interrupted, no output was written%s%s\n", has_more ? "; " : "",
                 has_more ? printable(status.message()).c_str() : "");
  } else {
    print_error("error", status.message());
  }
  return exit_code(status.code());
}

using Words = std::vector<std::string>;

/// Returns the index of the verb among the words, after options of the whole program; the number of words if there is
/// none.
size_t verb_place(const Words& words) {
  size_t at = 0;
  while (at < words.size() && words[at].starts_with("-"))
    at += words[at] == "--log-level" || words[at] == "--log-file" || words[at] == "--timeout" ||
                  words[at] == "--allow-external"
              ? 2
              : 1;
  return std::min(at, words.size());
}

/// Suggests a verb if the first word is not one; CLI11 would only report that it is unexpected. Runs first, because a
/// verb that computes may have to restart the program.
Status check_verb(const Words& words, char** argv) {
  const size_t at = verb_place(words);
  if (at == words.size()) return Status();
  std::vector<std::string> names;
  for (const Verb& verb : kVerbs) {
    if (words[at] == verb.name) {
      if (verb.computes) bound_spinning(argv);
      return Status();
    }
    names.emplace_back(verb.name);
  }
  return invalid_argument(words[at], ": unknown verb", did_you_mean(words[at], names), " (known: ", join(names, ", "),
                          ")");
}

/// --json takes a value only as --json=FILE, so that it swallows no word; alone it means stdout. "--json -" and, in
/// evaluate and check, "--json FILE" are older forms: there the next word is the value when it does not begin with a
/// dash.
Words join_json(const Words& words) {
  const size_t at = verb_place(words);
  const bool takes_file = at < words.size() && (words[at] == "evaluate" || words[at] == "check");
  Words joined;
  for (size_t i = 0; i < words.size(); ++i) {
    const bool has_value = words[i] == "--json" && i + 1 < words.size() &&
                           (words[i + 1] == "-" || (takes_file && !words[i + 1].starts_with("-")));
    joined.push_back(words[i]);
    if (words[i] == "--json") joined.back() += "=" + (has_value ? words[i + 1] : std::string(kStdout));
    if (has_value) ++i;
  }
  return joined;
}

/// Checks that the output was written: a full disk is reported when the buffer is flushed.
Status check_printed() {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return Status();
  return io_error("standard output: writing failed, ", std::strerror(errno));
}

/// Returns the exit code of a run that ended with `status`, and reports what failed.
int finish(const Status& status) {
  const Status printed = check_printed();
  if (status.ok() && printed.ok()) return 0;
  return fail(status.ok() ? printed : status);
}

struct ProgramOptions {
  bool is_sandboxed = false;
  std::string log_file;  ///< empty: no log is kept
};

void add_program_options(CLI::App& app, ProgramOptions& options) {
  app.set_version_flag("-V,--version", cat("quarkq ", version(), "\n", build_information()));
  app.fallthrough();                       // so that what belongs to every verb may follow it
  app.allow_windows_style_options(false);  // /models/a.onnx is a path on every system
  app.add_option_function<std::string>(
         "--log-level", [](const std::string& name) { set_log_level(name); },
         "Lowest severity written to stderr: error, warning, notice or info (the default)")
      ->check(CLI::IsMember(kLogLevelNames));
  app.add_flag_callback("-q,--quiet", set_quiet, "Print errors only, and results of verbs that only print");
  app.add_flag_callback("-v,--verbose", set_verbose, "Print every finding, and the time of every phase");
  app.add_option_function<std::vector<std::string>>(
         "--allow-external", [](const std::vector<std::string>& folders) { onnx_io::allow_external_data_in(folders); },
         "A folder into which the external data of a model may be linked; may be repeated")
      ->type_name("DIR")
      ->allow_extra_args(false);
  add_timeout_option(app);
  add_sandbox_option(app, options.is_sandboxed);
  app.add_option("--log-file", options.log_file,
                 "Keep a log: lines with time, level, phase and thread are added to FILE (rotated at 10 MB)")
      ->type_name("FILE");
}

/// Opens the log and adds the command to it.
Status begin_log(const std::string& path, const Words& words, RunFiles& files) {
  if (path.empty()) return Status();
  QQ_RETURN_IF_ERROR(files.add_output(path));
  QQ_RETURN_IF_ERROR(open_log(path));
  log_line(LogLevel::kInfo, cat("quarkq ", version(), ": ", join(words, " ")));
  return Status();
}

/// Prints CLI11's parse error in quarkq's wording, and the usage of the verb.
int refuse(const CLI::App& app, const Words& words, const CLI::ParseError& error) {
  const CLI::App& part = part_of(app, words);
  const Status unknown = check_options_known(part, words);
  fail(unknown.ok() ? invalid_argument(error.what()) : unknown);
  const bool is_verb = &part != &app;
  std::fprintf(stderr, "%s\nquarkq help%s%s lists the options\n", usage_line(part).c_str(), is_verb ? " " : "",
               is_verb ? part_of(app, {words[verb_place(words)]}).get_name().c_str() : "");
  return exit_code(Code::kInvalidArgument);
}

int main_function(int argc, char** argv) {
  const Words words = join_json(platform::utf8_arguments(argc, argv));
  if (Status status = check_verb(words, argv); !status.ok()) return fail(status);
  CLI::App app{"quarkq: native quantizer of ONNX models for AMD NPU tool chains and ONNX Runtime", "quarkq"};
  ProgramOptions options;
  add_program_options(app, options);
  app.require_subcommand(1);
  const size_t columns = columns_of(stdout);
  app.formatter(help_formatter());
  app.get_formatter()->column_width(help_column(columns));
  std::vector<std::pair<CLI::App*, Run>> runs;
  for (const Verb& verb : kVerbs) {
    CLI::App* sub = app.add_subcommand(verb.name, verb.summary);
    runs.emplace_back(sub, verb.setup(*sub));
  }
  if (words.empty()) {
    std::fputs(app.help().c_str(), stderr);
    return fail(invalid_argument("no verb was given, allowed is one of those above"));
  }
  try {
    app.parse(Words(words.rbegin(), words.rend()));  // CLI11 takes them from the back
  } catch (const CLI::CallForHelp&) {
    std::fputs(wrapped_help(app.help(), columns).c_str(), stdout);
    return finish(Status());
  } catch (const CLI::Success& asked) {  // --version
    app.exit(asked);
    return finish(Status());
  } catch (const CLI::ParseError& error) {
    return refuse(app, words, error);
  }
  watch_over_run();
  RunFiles files;
  for (const auto& [sub, run] : runs) {
    if (!sub->parsed()) continue;
    const CLI::App& given = innermost(*sub);
    if (Status status = check_values(given); !status.ok()) return fail(status);
    if (Status status = declare_files(given, files); !status.ok()) return fail(status);
    if (Status status = begin_log(options.log_file, words, files); !status.ok()) return fail(status);
    if (options.is_sandboxed) {
      if (Status status = enter_sandbox(given); !status.ok()) return fail(status);
    }
    stop_when_memory_runs_out();
    const Stopwatch watch;
    const int code = finish(run());
    log_line(LogLevel::kInfo, cat("exit code ", code, " after ", watch.seconds(), " s"));
    if (code != 0) return code;
  }
  return 0;
}

}  // namespace
}  // namespace quarkq::tool

int main(int argc, char** argv) {
  quarkq::tool::prepare_process(argv[0]);
  try {
    return quarkq::tool::main_function(argc, argv);
  } catch (const std::bad_alloc&) {
    quarkq::tool::print_error("error", "out of memory");
    return quarkq::exit_code(quarkq::Code::kResource);
  } catch (const std::exception& error) {
    quarkq::tool::print_error("internal error", std::string(error.what()) + "; please report this");
    return quarkq::exit_code(quarkq::Code::kInternal);
  }
}

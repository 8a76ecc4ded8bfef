// SPDX-License-Identifier: MIT
// quarkq: the verb table and nothing else. Each verb is one cmd_<verb>.cpp.
#include <cstdio>
#include <iostream>
#include <vector>

#include "base/suggest.h"
#include "quarkq/version.h"
#include "verb.h"

namespace quarkq::tool {
namespace {

constexpr Verb kVerbs[] = {
    {"quantize", "turn a float ONNX model into a quantized one", setup_quantize, true},
    {"calibrate", "write statistics of samples, or of a shard of them, to a file", setup_calibrate, true},
    {"merge", "merge the statistics of shards", setup_merge, false},
    {"optimize", "only rewrite the float model, as quantize would", setup_optimize, true},
    {"run", "run a float or quantized model over a folder of samples", setup_run, true},
    {"evaluate", "compare two folders of results, or two models", setup_evaluate, true},
    {"inspect", "show what a model is, and what is quantized and how", setup_inspect, false},
    {"check", "look up the limits of an NPU in a quantized model", setup_check, false},
    {"analyze", "find the layers that cost the outputs most", setup_analyze, true},
    {"report", "turn the JSON report of a quantize run into an HTML page", setup_report, false},
    {"list", "list presets, options, passes, ops, formats, calibrators, quirks", setup_list, false},
    {"config", "show the settings of a preset or file, or check a file", setup_config, false},
    {"completion", "print the completion script of a shell", setup_completion, false},
    {"man", "print the manual page", setup_man, false},
};

int fail(const Status& status) {
  if (status.code() == Code::kInterrupted) {
    std::fprintf(stderr, "quarkq: interrupted, nothing was written\n");
  } else {
    print_error("error", status.message());
  }
  return exit_code(status.code());
}

/// A first word that is no verb gets a suggestion; CLI11 alone would only say that it is unexpected. Runs before
/// anything else because a verb that computes may have to start the program anew.
Status check_verb(int argc, char** argv) {
  int at = 1;
  if (argc > 2 && std::string(argv[1]) == "--log-level") at = 3;  // the only option that may stand before the verb
  if (argc <= at || argv[at][0] == '-') return Status();
  std::vector<std::string> names;
  for (const Verb& verb : kVerbs) {
    if (std::string(argv[at]) == verb.name) {
      if (verb.computes) bound_spinning(argv);
      return Status();
    }
    names.emplace_back(verb.name);
  }
  return invalid_argument(argv[at], ": unknown verb", did_you_mean(argv[at], names), " (known: ", join(names, ", "),
                          ")");
}

int main_function(int argc, char** argv) {
  if (Status status = check_verb(argc, argv); !status.ok()) return fail(status);
  CLI::App app{"quarkq: native quantizer of ONNX models for AMD NPU tool chains and ONNX Runtime", "quarkq"};
  app.set_version_flag("--version", cat("quarkq ", version(), "\n", build_information()));
  app.fallthrough();  // so that what belongs to every verb may stand behind it
  app.add_option_function<std::string>(
         "--log-level", [](const std::string& name) { set_log_level(name); },
         "What goes to stderr: error, warning, notice or info (the default)")
      ->check(CLI::IsMember(kLogLevelNames));
  app.require_subcommand(1);
  app.get_formatter()->column_width(42);
  std::vector<std::pair<CLI::App*, Run>> runs;
  for (const Verb& verb : kVerbs) {
    CLI::App* sub = app.add_subcommand(verb.name, verb.summary);
    runs.emplace_back(sub, verb.setup(*sub));
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& asked) {  // --help, --version
    return app.exit(asked);
  } catch (const CLI::ParseError& error) {
    return fail(invalid_argument(error.what(), "; see quarkq --help"));
  }
  catch_interrupts();
  for (const auto& [sub, run] : runs) {
    if (!sub->parsed()) continue;
    if (Status status = run(); !status.ok()) return fail(status);
  }
  return 0;
}

}  // namespace
}  // namespace quarkq::tool

int main(int argc, char** argv) {
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

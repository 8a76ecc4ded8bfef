// SPDX-License-Identifier: MIT
// What a verb is: it adds its options to a CLI11 app and returns what to run after parsing.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/run_files.h"
#include "output.h"

namespace quarkq::tool {

using Run = std::function<Status()>;  ///< prints its result to stdout itself

struct Verb {
  const char* name;
  const char* summary;
  Run (*setup)(CLI::App& app);
  bool computes;  ///< runs kernels, so its threads must behave on a busy machine (bound_spinning())
};

// One per cmd_<verb>.cpp.
Run setup_quantize(CLI::App& app);
Run setup_calibrate(CLI::App& app);
Run setup_merge(CLI::App& app);
Run setup_optimize(CLI::App& app);
Run setup_import(CLI::App& app);
Run setup_convert(CLI::App& app);
Run setup_run(CLI::App& app);
Run setup_evaluate(CLI::App& app);
Run setup_inspect(CLI::App& app);
Run setup_check(CLI::App& app);
Run setup_analyze(CLI::App& app);
Run setup_tune(CLI::App& app);
Run setup_plan(CLI::App& app);
Run setup_report(CLI::App& app);
Run setup_list(CLI::App& app);
Run setup_config(CLI::App& app);
Run setup_completion(CLI::App& app);
Run setup_man(CLI::App& app);
Run setup_help(CLI::App& app);

/// --threads and --isa, which every verb that computes has.
struct ComputeOptions {
  int threads = 0;
  std::string isa = "native";
};
void add_compute_options(CLI::App& app, ComputeOptions& options);

// Options of the command line that are settings. They become texts "--flag=value" of `settings`, whose place does not
// matter:
// --set is stronger (config/layers.h).

/// --preprocess NAME, a recipe for images.
void add_preprocess_option(CLI::App& app, std::vector<std::string>& settings);

/// --backend native|ort[:PROVIDER].
void add_backend_option(CLI::App& app, std::vector<std::string>& settings);

/// --shape INPUT=1,3,224,224 (repeatable).
void add_shape_option(CLI::App& app, std::vector<std::string>& settings);
/// --target NAME|FILE, and --shape.
void add_target_options(CLI::App& app, std::vector<std::string>& settings);
/// --max-wide and --max-islands.
void add_island_options(CLI::App& app, std::vector<std::string>& settings);
/// "95%", "95" and "0.95" are the same share; messages name the option.
Result<double> share_of(const std::string& option, const std::string& text);

/// An error unless a preset, a file or a target says what is wanted.
Status check_has_config(const std::string& config, const std::vector<std::string>& settings);

/// --requantize.
void add_requantize_option(CLI::App& app, bool& requantize);

/// OpenMP's threads spin for milliseconds when they wait. With another process on one of the cores that turns every
/// parallel region into a wait for the scheduler (seen: 1 ms became 100 ms). The bound is read when the library is
/// loaded, so the program restarts itself with it, once, unless the user set one.
void bound_spinning(char** argv);

// The files and folders that a command line names: what the verb reads, and what it writes.

/// kFile: a result, or "-". kFolder: a folder that is filled with results.
enum class Place : char { kFile, kFolder };

struct OutputPlace {
  std::string path;
  Place place = Place::kFile;
};

/// Returns the subcommand of `verb` that was given, or `verb` itself: "show" of "config show".
const CLI::App& innermost(const CLI::App& verb);

/// Returns the first value of an option, or "" if it was not given.
std::string value_of(const CLI::App& verb, std::string_view option);

/// Returns every result of `verb`, including those named after an input. This is the only list of output options.
std::vector<OutputPlace> outputs_of(const CLI::App& verb);

/// Declares everything that `verb` reads and writes. Each option that is not an output is an input if its value names a
/// file; settings and what they name are inputs, too. Fails with kInvalidArgument if a result would overwrite an input.
Status declare_files(const CLI::App& verb, RunFiles& files);

}  // namespace quarkq::tool

// SPDX-License-Identifier: MIT
// A verb: adds its options to a CLI11 app and returns the function to run after parsing.
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

using Run = std::function<Status()>;  ///< Prints its result to stdout itself.

struct Verb {
  const char* name;
  const char* summary;
  Run (*setup)(CLI::App& app);
  bool computes;  ///< Runs kernels, so its threads must behave well on a busy machine (bound_spinning()).
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
Run setup_skill(CLI::App& app);
Run setup_completion(CLI::App& app);
Run setup_man(CLI::App& app);
Run setup_help(CLI::App& app);

/// --threads and --isa of every verb that computes.
struct ComputeOptions {
  int threads = 0;
  std::string isa = "native";
};
void add_compute_options(CLI::App& app, ComputeOptions& options);

// Options of the command line that are settings. They become texts "--flag=value" of `settings`; their position does
// not matter, and --set overrides them (config/layers.h).

/// Adds --preprocess NAME, a recipe for images.
void add_preprocess_option(CLI::App& app, std::vector<std::string>& settings);

/// Adds --backend native|ort[:PROVIDER].
void add_backend_option(CLI::App& app, std::vector<std::string>& settings);

/// Adds --shape INPUT=1,3,224,224 (repeatable).
void add_shape_option(CLI::App& app, std::vector<std::string>& settings);
/// Adds --target NAME|FILE, --allow-float and --shape.
void add_target_options(CLI::App& app, std::vector<std::string>& settings);
/// Adds --require deployable, for pipeline::check_deployable().
void add_deployable_gate(CLI::App& app, std::vector<std::string>& requirements);
/// Adds an option for a size that parse_size() reads. Calls `use` with the bytes if it is given.
void add_size_option(CLI::App& app, const std::string& name, const std::string& help, std::function<void(int64_t)> use);

/// Adds --target-bits, --target-size, --nbits-plan and --nbits-plan-out.
void add_weight_options(CLI::App& app, std::vector<std::string>& settings);

/// Adds --max-wide and --max-islands.
void add_island_options(CLI::App& app, std::vector<std::string>& settings);
/// Parses a share: "95%", "95" and "0.95" are equal. Messages name the option.
Result<double> share_of(const std::string& option, const std::string& text);

/// Fails unless a preset, a file or a target is specified.
Status check_has_config(const std::string& config, const std::vector<std::string>& settings);

/// Adds --requantize.
void add_requantize_option(CLI::App& app, bool& requantize);

/// OpenMP's waiting threads spin for milliseconds. If another process uses one of the cores, every parallel region then
/// waits for the scheduler (measured: 1 ms became 100 ms). The bound is read when the library is loaded, so the program
/// restarts itself once with the bound, unless the user set one.
void bound_spinning(char** argv);

// The files and folders on a command line: inputs and outputs of the verb.

/// kFile: a result, or "-". kFolder: a folder for results.
enum class Place : char { kFile, kFolder };

struct OutputPlace {
  std::string path;
  Place place = Place::kFile;
};

/// Returns the given subcommand of `verb`, or `verb` itself: "show" of "config show".
const CLI::App& innermost(const CLI::App& verb);

/// Returns the first value of an option, or an empty string if it was not given.
std::string value_of(const CLI::App& verb, std::string_view option);

/// Returns every result of `verb`, including results named after an input. This is the only list of output options.
std::vector<OutputPlace> outputs_of(const CLI::App& verb);

/// Declares all inputs and outputs of `verb`. Each option that is not an output is an input if its value names a file.
/// Settings files, and files named in them, are inputs as well. Fails with kInvalidArgument if a result would overwrite
/// an input.
Status declare_files(const CLI::App& verb, RunFiles& files);

}  // namespace quarkq::tool

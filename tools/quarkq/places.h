// SPDX-License-Identifier: MIT
// The files and folders that a command line names: what the verb reads, and what it writes.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/run_files.h"

namespace quarkq::tool {

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

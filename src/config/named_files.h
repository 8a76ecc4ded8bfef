// SPDX-License-Identifier: MIT
// The files that settings name: inputs that are never overwritten and belong to the keys of what is kept between runs.
#pragma once

#include <string>
#include <vector>

#include "base/run_files.h"

namespace quarkq::config {

struct NamedFiles {
  std::vector<std::string> read;     ///< files that exist, and folders of samples
  std::vector<std::string> written;  ///< results that settings ask for, whether they exist or not
};

/// Collects every text in the settings that is the path of a file, and what those files name in turn: list files name
/// samples, files in YAML or JSON name files. Any text counts, so that an option added later is covered. Settings that
/// cannot be read name nothing: load_config() says why.
NamedFiles files_named_by(const std::string& file_or_preset, const std::vector<std::string>& sets);

/// Collects the files that a YAML or JSON file names. Returns an empty list if `path` is not such a file.
NamedFiles files_named_in(const std::string& path);

/// Declares `named` as inputs and outputs of a run.
Status declare(const NamedFiles& named, RunFiles& files);

}  // namespace quarkq::config

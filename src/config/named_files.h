// SPDX-License-Identifier: MIT
// The files that settings name: inputs that are never overwritten and belong to the keys of what is kept between runs.
#pragma once

#include <string>
#include <vector>

#include "base/run_files.h"
#include "config/quant_config.h"
#include "config/settings.h"

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

// CryptoMode: a run writes nothing but its result. What would write other files is refused, or left out with a notice.

/// Whether the request asks for it, before it is resolved.
bool asks_crypto(const QuantConfig& config);

/// Refuses settings that would write files beside the result; says what is left out. Nothing without crypto_mode.
Status check_crypto(const Settings& settings, Diagnostics& diagnostics);

// Where the samples of EvalMetrics are.

/// EvalDataReader, else evaluation.dir; empty: none. kInvalidArgument when EvalDataReader is no path.
Result<std::string> evaluation_folder(const Settings& settings);

// The files that UserCustomOpLibPath names.

/// A file, a list of files, or folders, which stand for the .so files in them; empty: none. kInvalidArgument for values
/// of another kind, for what is not there, and for folders without such files.
Result<std::vector<std::string>> user_libraries(const QuantConfig& config);

}  // namespace quarkq::config

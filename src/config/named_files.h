// SPDX-License-Identifier: MIT
// The files named in settings: inputs that are never overwritten and that are part of the keys of caches between runs.
#pragma once

#include <string>
#include <vector>

#include "base/run_files.h"
#include "config/quant_config.h"
#include "config/settings.h"

namespace quarkq::config {

struct NamedFiles {
  std::vector<std::string> read;     ///< Existing files, and folders of samples.
  std::vector<std::string> written;  ///< Results requested by settings, existing or not.
};

/// Collects every text in the settings that is the path of a file, and the files named in those files: list files name
/// samples, files in YAML or JSON name files. Every text counts, so that later options are covered. Unreadable settings
/// name no files; load_config() reports them.
NamedFiles files_named_by(const std::string& file_or_preset, const std::vector<std::string>& sets);

/// Collects the files that a YAML or JSON file names. Returns an empty list if `path` is not such a file.
NamedFiles files_named_in(const std::string& path);

/// Declares `named` as inputs and outputs of a run.
Status declare(const NamedFiles& named, RunFiles& files);

// CryptoMode: a run writes only its result. Settings that would write other files are rejected, or disabled with a
// notice.

/// Returns whether the request sets crypto_mode, before it is resolved.
bool asks_crypto(const QuantConfig& config);

/// Rejects settings that would write files other than the result, and reports disabled features. Does nothing without
/// crypto_mode.
Status check_crypto(const Settings& settings, Diagnostics& diagnostics);

/// Returns EvalDataReader, otherwise evaluation.dir; empty if neither is set. Fails with kInvalidArgument if
/// EvalDataReader is not a path.
Result<std::string> evaluation_folder(const Settings& settings);

/// Returns a file, a list of files, or the .so files of folders; empty if the option is not set. Fails with
/// kInvalidArgument for values of another kind, missing files, and folders without such files.
Result<std::vector<std::string>> user_libraries(const QuantConfig& config);

}  // namespace quarkq::config

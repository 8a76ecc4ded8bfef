// SPDX-License-Identifier: MIT
// write_deployment(): what a session on the target needs beside the model.
#pragma once

#include <string>
#include <vector>

#include "quarkq/export.h"
#include "quarkq/status.h"

namespace quarkq {

/// Writes into `folder`, which is made when it is not there:
/// the compiler's configuration (vitisai_config.json) for targets that read one, names and values for the execution
/// provider (provider_options.json), and a page with the evidence and a session in Python.
/// The values come from the options of the target (a name or a file, docs/targets.md); the cache key from the content
/// of the model at `model_path`. Returns the paths written. Fails with kInvalidArgument for an unknown target, kIo when
/// a file cannot be read or written; existing files of these names are replaced.
QUARKQ_EXPORT Result<std::vector<std::string>> write_deployment(const std::string& model_path,
                                                                const std::string& target, const std::string& folder);

}  // namespace quarkq

// SPDX-License-Identifier: MIT
// Conversion of YAML or JSON text to Node, the only entry point for settings. Only its .cpp includes the YAML library.
// Malicious input ends in an error, never in a crash or exhausted memory: size, depth and the number of nodes are
// limited.
#pragma once

#include <string>

#include "base/error.h"
#include "config/node.h"

namespace quarkq::config {

constexpr size_t kMaxFileBytes = size_t{16} << 20;
constexpr int kMaxDepth = 64;
constexpr size_t kMaxAliasBytes = size_t{4} << 20;  ///< Total size of texts repeated by aliases, each counted every
                                                    ///< time.
constexpr size_t kMaxNodes = 200'000;               ///< With every alias counted as its content.

/// Parses the only document in `text`. Empty text gives null. Errors (kInvalidArgument) start with `source_name` and
/// the line. Duplicate keys, keys that are not scalars, several documents and bytes that are not text are errors.
Result<Node> parse_text(const std::string& text, const std::string& source_name);

/// Loads the document in a file of at most kMaxFileBytes.
Result<Node> load_file(const std::string& path);

}  // namespace quarkq::config

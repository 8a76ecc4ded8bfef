// SPDX-License-Identifier: MIT
// Texts of a report that was read from a file.
#pragma once

#include <string>

#include "pipeline/json.h"

namespace quarkq::pipeline::html {

/// Throws Json::exception where there is no such key, or something else than a text.
inline std::string text_of(const Json& entry, const char* key) { return entry.at(key).get<std::string>(); }

}  // namespace quarkq::pipeline::html

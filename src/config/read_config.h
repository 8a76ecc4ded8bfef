// SPDX-License-Identifier: MIT
// What a settings file may hold at its top level. The readers themselves are in read_config.cpp.
#pragma once

#include <string>
#include <vector>

namespace quarkq::config {

/// Every key allowed at the top of a settings file (ref:settings#settings-file, and "preprocess").
std::vector<std::string> top_level_keys();

}  // namespace quarkq::config

// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <string>

namespace quarkq::platform {

/// Returns `path` for functions of std::filesystem, in a form that has no limit of 260 characters.
std::filesystem::path native(const std::string& path);

}  // namespace quarkq::platform

// SPDX-License-Identifier: MIT
// The border between UTF-8 and std::filesystem::path. The conversions of the path class itself read another encoding on
// Windows, so they are not used.
#pragma once

#include <filesystem>
#include <string>

namespace quarkq::platform {

/// Returns the path that the UTF-8 `text` names.
std::filesystem::path path_of(const std::string& text);
/// Returns `path` as UTF-8, with its own separators.
std::string text_of(const std::filesystem::path& path);
/// Returns `path` for functions that open files, in a form that has no limit of 260 characters.
std::filesystem::path native(const std::string& path);

}  // namespace quarkq::platform

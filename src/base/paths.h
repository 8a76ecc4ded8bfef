// SPDX-License-Identifier: MIT
// Paths as UTF-8 texts, with the rules of the system for separators, drives and absolute paths. Code outside of base
// uses these functions instead of std::filesystem, whose conversions from std::string do not read UTF-8 on Windows
// (tests/lint/platforms.py).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/error.h"

namespace quarkq::paths {

// Functions of the text only.

/// Returns `name` in `folder`. Returns `name` itself if it is absolute.
std::string joined(const std::string& folder, const std::string& name);
/// Returns the path without its last part, and an empty string if there is only one part.
std::string folder_of(const std::string& path);
/// Returns the path without its last part, and "." if there is only one part.
std::string folder_or_here(const std::string& path);
/// Returns the last part of the path.
std::string name_of(const std::string& path);
/// Returns the last part without its suffix.
std::string stem_of(const std::string& path);
/// Returns the suffix with its dot, and an empty string if there is none. A dot at the start of a name begins no
/// suffix.
std::string suffix_of(const std::string& path);
/// Returns the path with `suffix` (".yaml") instead of its own. An empty `suffix` removes its own.
std::string with_suffix(const std::string& path, const std::string& suffix);
/// Returns the path with '/' between its parts on every system.
std::string with_slashes(const std::string& path);
/// Returns the path without "." and without parts that ".." cancels.
std::string normal(const std::string& path);
/// Returns `path` as seen from `folder`, with '/' between its parts. Returns an empty string if only one of them is
/// absolute.
std::string relative_to(const std::string& path, const std::string& folder);
/// Returns the parts, the root first.
std::vector<std::string> parts_of(const std::string& path);
/// Returns the path that consists of `parts`.
std::string of_parts(const std::vector<std::string>& parts);
/// Returns whether the path begins at a root or names a drive, so that it ignores the folder it is joined to.
bool has_root(const std::string& path);

// Functions that read or change the file system.

/// Returns the absolute path. Links are not followed. Returns an empty string for an empty path.
std::string absolute(const std::string& path);
/// Returns the absolute path without links. Returns nullopt if there is no such file or folder.
std::optional<std::string> real(const std::string& path);
/// Returns real() of the longest part that exists, followed by the rest.
std::string real_so_far(const std::string& path);
/// Returns whether both paths exist and lead to the same file or folder.
bool is_same(const std::string& a, const std::string& b);
bool exists(const std::string& path);
/// Returns whether there is an entry at `path`, be it a link that leads nowhere.
bool is_taken(const std::string& path);

/// Creates the folder and those above it that are missing. Fails with kIo.
Status make_folders(const std::string& path);
/// Removes a file, a link or an empty folder. Does nothing if that is not possible.
void remove(const std::string& path);
/// Removes a folder with its contents. Links are removed, not followed. Entries that cannot be removed remain.
void remove_tree(const std::string& path);

/// Returns the folder of temporary files, and an empty string if there is none.
std::string temporary_folder();

}  // namespace quarkq::paths

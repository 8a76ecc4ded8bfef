// SPDX-License-Identifier: MIT
// Folders of the operating system, and where paths lead. Paths are UTF-8. Functions that fail set errno.
#pragma once

#include <optional>
#include <string>

namespace quarkq::platform {

/// Creates one folder. Fails with EEXIST if there is such a file or folder.
bool make_folder(const std::string& path);
/// Removes an empty folder.
bool remove_folder(const std::string& path);
/// Closes `fd` from open_folder() of the folder at `path`, and removes the file that stands for its lock, if the system
/// has one, with the folder if nothing else is in it.
void remove_lock(int fd, const std::string& path);
/// Returns the absolute path without links. Returns nullopt if there is no such file or folder.
std::optional<std::string> real_path(const std::string& path);

}  // namespace quarkq::platform

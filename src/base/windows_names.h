// SPDX-License-Identifier: MIT
// Names of files that Windows reserves or changes. Pure functions of the text, so they are tested on every system.
#pragma once

#include <string>
#include <string_view>

namespace quarkq {

/// Returns why Windows would not create exactly the file that `path` names ("found ..., allowed is ..."), and an empty
/// string if it would. Every part of the path is checked. `path` is UTF-8 with either separator.
std::string windows_name_fault(std::string_view path);

/// Returns whether `path` is the name of a device: "NUL", "con", "\\.\PhysicalDrive0".
bool is_windows_device(std::string_view path);

}  // namespace quarkq

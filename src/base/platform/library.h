// SPDX-License-Identifier: MIT
// Shared libraries that are loaded at run time.
#pragma once

#include <string>
#include <vector>

namespace quarkq::platform {

struct OpenedLibrary {
  void* handle = nullptr;  ///< null: it cannot be loaded
  std::string why;         ///< reason of the system
};

/// Loads the library at `path`, or a name that the system searches. It stays loaded.
OpenedLibrary open_library(const std::string& path);
/// Returns null if the library has no such symbol.
void* symbol_of(void* library, const char* name);

/// Returns the canonical path of the program or library that contains this code, or an empty string.
std::string own_file();

/// Keeps the library that contains this code until the process ends, where its link options do not do that already.
void stay_loaded();

/// Names and patterns (files_like()) of a library of the system and of Python packages, in the order in which they are
/// to be tried. `package` is the folder in site-packages, `name` the library ("onnxruntime"). `own_packages` is a
/// folder of packages that comes before others, or empty.
std::vector<std::string> places_of_library(const std::string& package, const std::string& name,
                                           const std::string& own_packages);

/// Returns ".so" or ".dll".
std::string library_suffix();
/// Returns the file name of the library `name` in examples and messages.
std::string library_file(const std::string& name);

}  // namespace quarkq::platform

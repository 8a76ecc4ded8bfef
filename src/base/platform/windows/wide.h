// SPDX-License-Identifier: MIT
// The border between UTF-8 paths and the system's UTF-16, and between its error codes and errno.
#pragma once

#include <string>
#include <string_view>

namespace quarkq::platform {

/// Invalid UTF-8 becomes U+FFFD.
std::wstring wide(std::string_view text);
/// Unpaired surrogates become U+FFFD.
std::string narrow(std::wstring_view text);
/// Returns the path with backslashes. Long paths become absolute paths of the form \\?\, which has no limit of 260.
std::wstring wide_path(std::string_view path);

/// Sets errno from GetLastError() and returns -1.
int fail_with_errno();
/// Returns the system's text for a code of GetLastError().
std::string text_of_error(unsigned long code);

}  // namespace quarkq::platform

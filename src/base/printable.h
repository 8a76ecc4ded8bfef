// SPDX-License-Identifier: MIT
// Names from files inside sentences, tables and dumps.
#pragma once

#include <string>
#include <string_view>

namespace quarkq {

/// Returns `text` on one line without characters that control a terminal, a log or the direction of writing: controls,
/// line breaks and tabs become "\x0a" and the like, U+2028, U+2029, U+202A to U+202E and U+2066 to U+2069 become
/// "\u202e" and the like. Names are a stranger's text: escape them before the program adds line breaks of its own.
std::string printable(std::string_view text);

}  // namespace quarkq

// SPDX-License-Identifier: MIT
// Text that fits a terminal.
#pragma once

#include <cstdio>
#include <string>

namespace quarkq::tool {

/// Columns of the terminal that `stream` writes to; 0 when it is none.
size_t columns_of(std::FILE* stream);

/// Characters, not bytes: text may be UTF-8.
size_t width_of(const std::string& text);

/// Lines of at most `columns` characters, broken between words; a word that is longer stays whole. Lines after the
/// first begin with `indent` spaces. 0 columns: the text as it is.
std::string wrapped(const std::string& text, size_t columns, size_t indent);

/// The same for help: descriptions stay in their column.
std::string wrapped_help(const std::string& text, size_t columns);

/// The column of descriptions in help for a terminal of so many columns.
size_t help_column(size_t columns);

/// std::printf() to stdout. Texts among the arguments become printable(): only `format` breaks lines. Supports the
/// conversions s, c, d, u and those of double, without '*'.
[[gnu::format(printf, 1, 2)]] void say(const char* format, ...);

/// Prints a text of several lines that the program itself has put together from printable() parts.
void print_lines(const std::string& text);

/// "label      text", wrapped as stdout needs it.
void print_line(const std::string& line);

}  // namespace quarkq::tool

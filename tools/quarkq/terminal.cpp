// SPDX-License-Identifier: MIT
#include "terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdarg>
#include <cstring>
#include <vector>

#include "base/printable.h"
#include "base/strings.h"

namespace quarkq::tool {
namespace {

constexpr size_t kLeastColumns = 40, kUsualColumns = 80;
constexpr size_t kHelpColumn = 42;  // of descriptions, where there is room
constexpr size_t kLabel = 11;       // columns of the labels of a summary

/// Where the description of a line of help begins: after two spaces or more that follow the names.
size_t description_column(const std::string& line) {
  const size_t begin = line.find_first_not_of(' ');
  const size_t gap = begin == std::string::npos ? begin : line.find("  ", begin);
  const size_t text = gap == std::string::npos ? begin : line.find_first_not_of(' ', gap);
  return text == std::string::npos ? 0 : text;
}

/// One conversion of printf: `flags` begins with '%', `length` is "", "l", "ll" or "z".
std::string converted(const std::string& flags, const std::string& length, char kind, va_list& arguments) {
  const auto print = [](const std::string& format, auto value) {
    std::string text(static_cast<size_t>(std::max(std::snprintf(nullptr, 0, format.c_str(), value), 0)), '\0');
    std::snprintf(text.data(), text.size() + 1, format.c_str(), value);
    return text;
  };
  switch (kind) {
    case '%': return "%";
    case 's': return print(flags + "s", printable(va_arg(arguments, const char*)).c_str());
    case 'c': return printable(std::string(1, static_cast<char>(va_arg(arguments, int))));
    case 'd': return print(flags + "lld", length.empty() ? va_arg(arguments, int) : va_arg(arguments, long long));
    case 'u':
      return print(flags + "llu", length.empty() ? va_arg(arguments, unsigned) : va_arg(arguments, unsigned long long));
    default: return print(flags + kind, va_arg(arguments, double));
  }
}

}  // namespace

size_t columns_of(std::FILE* stream) {
  if (::isatty(::fileno(stream)) != 1) return 0;
  winsize size{};
  const bool is_known = ::ioctl(::fileno(stream), TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return is_known ? std::max<size_t>(size.ws_col, kLeastColumns) : kUsualColumns;
}

size_t width_of(const std::string& text) {
  return static_cast<size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

std::string wrapped(const std::string& text, size_t columns, size_t indent) {
  if (columns == 0 || width_of(text) <= columns) return text;
  const size_t start = text.find_first_not_of(' ');
  if (start == std::string::npos) return text;
  std::string result, line = text.substr(0, start);
  bool has_words = false;
  for (const std::string& word : split(std::string_view(text).substr(start), ' ')) {
    const size_t needed = width_of(line) + (has_words ? 1 : 0) + width_of(word);
    if (has_words && needed > columns) {
      result += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
      line = std::string(indent, ' ');
      has_words = false;
    }
    if (has_words) line += ' ';
    line += word;
    has_words = true;
  }
  return result + line;
}

std::string wrapped_help(const std::string& text, size_t columns) {
  std::vector<std::string> lines;
  for (const std::string& line : split(text, '\n')) lines.push_back(wrapped(line, columns, description_column(line)));
  return join(lines, "\n");
}

size_t help_column(size_t columns) { return columns == 0 ? kHelpColumn : std::min(kHelpColumn, columns * 2 / 5); }

std::string formatted(const char* format, va_list& arguments) {
  std::string text;
  for (const char* at = format; *at != '\0';) {
    const size_t plain = std::strcspn(at, "%");
    text.append(at, plain);
    at += plain;
    if (*at == '\0') break;
    const size_t flags = std::strspn(at + 1, "-+ #0123456789."), length = std::strspn(at + 1 + flags, "lz");
    const char kind = at[1 + flags + length];
    text += converted({at, flags + 1}, {at + 1 + flags, length}, kind, arguments);
    at += 2 + flags + length;
  }
  return text;
}

// NOLINTNEXTLINE(cert-dcl50-cpp): the compiler checks what is printed
void say(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const std::string text = formatted(format, arguments);
  va_end(arguments);
  std::fputs(text.c_str(), stdout);
}

void print_lines(const std::string& text) {
  std::vector<std::string> lines = split(text, '\n');
  for (std::string& line : lines) line = printable(line);
  std::fputs(join(lines, "\n").c_str(), stdout);
}

void print_line(const std::string& line) { print_lines(wrapped(printable(line), columns_of(stdout), kLabel) + "\n"); }

}  // namespace quarkq::tool

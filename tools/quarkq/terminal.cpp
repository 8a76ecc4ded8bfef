// SPDX-License-Identifier: MIT
#include "terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdarg>

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

std::string printable(const std::string& text) {
  const auto is_control = [](unsigned char c) { return (c < 0x20 && c != '\n' && c != '\t') || c == 0x7F; };
  std::string result;
  result.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    // U+0080 to U+009F: the same controls in UTF-8.
    const bool is_second = c == 0xC2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xA0;
    if (!is_control(c) && !is_second) {
      result += text[i];
      continue;
    }
    if (is_second) ++i;
    char code[8];
    std::snprintf(code, sizeof code, "\\x%02x", static_cast<unsigned>(static_cast<unsigned char>(text[i])));
    result += code;
  }
  return result;
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

// NOLINTNEXTLINE(cert-dcl50-cpp): the compiler checks what is printed
void say(const char* format, ...) {
  va_list arguments, again;
  va_start(arguments, format);
  va_copy(again, arguments);
  const int size = std::vsnprintf(nullptr, 0, format, arguments);
  va_end(arguments);
  std::string text(static_cast<size_t>(std::max(size, 0)), '\0');
  std::vsnprintf(text.data(), text.size() + 1, format, again);
  va_end(again);
  std::fputs(printable(text).c_str(), stdout);
}

void print_line(const std::string& line) { say("%s\n", wrapped(line, columns_of(stdout), kLabel).c_str()); }

}  // namespace quarkq::tool

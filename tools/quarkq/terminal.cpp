// SPDX-License-Identifier: MIT
#include "terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>

#include "base/strings.h"

namespace quarkq::tool {
namespace {

constexpr size_t kLeastColumns = 40, kUsualColumns = 80;
constexpr size_t kHelpColumn = 42;  // of descriptions, where there is room
constexpr size_t kLabel = 11;       // columns of the labels of a summary

/// Where the description of a line of help begins: behind two spaces or more that follow the names.
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

void print_line(const std::string& line) { std::printf("%s\n", wrapped(line, columns_of(stdout), kLabel).c_str()); }

}  // namespace quarkq::tool

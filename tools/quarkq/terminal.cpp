// SPDX-License-Identifier: MIT
#include "terminal.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <vector>

#include "base/platform/console.h"
#include "base/strings.h"

namespace quarkq::tool {

namespace {

constexpr size_t kLeastColumns = 40, kUsualColumns = 80;
constexpr size_t kHelpColumn = 42;  // Column of descriptions, if the terminal is wide enough.
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
  if (!platform::is_terminal(stream)) return 0;
  return std::max(platform::terminal_columns(stream).value_or(kUsualColumns), kLeastColumns);
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

namespace {

constexpr size_t kLeastCell = 12;

/// "...end": the end of a name tells more than its beginning.
std::string shortened(const std::string& cell, size_t width) {
  constexpr const char kLeftOut[] = "...";
  std::string text = cell;
  while (width_of(text) + 3 > width) {
    size_t next = 1;
    while (next < text.size() && (static_cast<unsigned char>(text[next]) & 0xC0) == 0x80) ++next;
    text.erase(0, next);
  }
  return kLeftOut + text;
}

}  // namespace

Table::Table(std::vector<Column> columns, std::string separator)
    : columns_(std::move(columns)), separator_(std::move(separator)) {
  std::vector<std::string> titles;
  for (const Column& column : columns_) titles.push_back(column.title);
  rows_.push_back(std::move(titles));
}

void Table::add(std::vector<std::string> row) {
  for (std::string& cell : row) cell = printable(cell);  // before its width is measured
  rows_.push_back(std::move(row));
}

void Table::print_fitting() {
  const size_t columns = columns_of(stdout);
  while (columns > 0) {
    const std::vector<size_t> widths = widths_of_columns();
    size_t total = separator_.size() * (widths.size() - 1), widest = widths.size();
    for (size_t i = 0; i < widths.size(); ++i) {
      total += widths[i];
      const bool may_shrink = columns_[i].align == Align::kLeft && widths[i] > kLeastCell;
      if (may_shrink && (widest == widths.size() || widths[i] > widths[widest])) widest = i;
    }
    if (total <= columns || widest == widths.size()) break;
    const size_t width = std::max(kLeastCell, widths[widest] - std::min(widths[widest], total - columns));
    for (auto& row : rows_) {
      if (width_of(row[widest]) > width) row[widest] = shortened(row[widest], width);
    }
  }
  print();
}

std::vector<size_t> Table::widths_of_columns() const {
  std::vector<size_t> widths(columns_.size());
  for (const auto& row : rows_) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width_of(row[i]));
  }
  return widths;
}

void Table::print() const {
  const std::vector<size_t> widths = widths_of_columns();
  for (const auto& row : rows_) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      const std::string fill(widths[i] - width_of(row[i]), ' ');
      line += columns_[i].align == Align::kLeft ? row[i] + fill : fill + row[i];
      if (i + 1 < row.size()) line += separator_;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    say("%s\n", line.c_str());
  }
}

std::string counts_text(const std::map<std::string, int>& counts) {
  std::vector<std::string> parts;
  parts.reserve(counts.size());
  for (const auto& [name, count] : counts) parts.push_back(cat(count, " x ", name));
  return join(parts, ", ");
}

std::string shortest(double value) {
  char text[64];
  return {text, std::to_chars(text, text + sizeof text, static_cast<float>(value)).ptr};
}

std::string significant(double value) {
  if (std::isnan(value)) return "nan";
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", value);
  return text;
}

std::string fixed(double value, int decimals) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  char text[400];  // the largest double has 309 digits
  std::snprintf(text, sizeof text, "%.*f", decimals, value);
  return text;
}

}  // namespace quarkq::tool

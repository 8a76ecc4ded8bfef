// SPDX-License-Identifier: MIT
#include "table.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>

#include "base/printable.h"
#include "base/strings.h"
#include "terminal.h"

namespace quarkq::tool {
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

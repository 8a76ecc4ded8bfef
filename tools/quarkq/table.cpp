// SPDX-License-Identifier: MIT
#include "table.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>

namespace quarkq::tool {
namespace {

/// Characters, not bytes: names may be UTF-8.
size_t width_of(const std::string& text) {
  return static_cast<size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

}  // namespace

Table::Table(std::vector<Column> columns, std::string separator)
    : columns_(std::move(columns)), separator_(std::move(separator)) {
  std::vector<std::string> titles;
  for (const Column& column : columns_) titles.push_back(column.title);
  rows_.push_back(std::move(titles));
}

void Table::add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }

void Table::print() const {
  std::vector<size_t> widths(columns_.size());
  for (const auto& row : rows_) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width_of(row[i]));
  }
  for (const auto& row : rows_) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      const std::string fill(widths[i] - width_of(row[i]), ' ');
      line += columns_[i].align == Align::kLeft ? row[i] + fill : fill + row[i];
      if (i + 1 < row.size()) line += separator_;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    std::printf("%s\n", line.c_str());
  }
}

std::string shortest(double value) {
  char text[64];
  return {text, std::to_chars(text, text + sizeof text, static_cast<float>(value)).ptr};
}

std::string fixed(double value, int decimals) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  char text[400];  // the largest double has 309 digits
  std::snprintf(text, sizeof text, "%.*f", decimals, value);
  return text;
}

}  // namespace quarkq::tool

// SPDX-License-Identifier: MIT
#include "metrics/truth/relations.h"

#include <charconv>

#include "base/parse_text.h"
#include "base/strings.h"
#include "metrics/truth/labels.h"
#include "metrics/truth/sample_names.h"

namespace quarkq::metrics {
namespace {

std::optional<size_t> row_number(const std::string& text) {
  size_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && stopped == end ? std::optional(value) : std::nullopt;
}

std::string trimmed_cell(const std::string& text) {
  constexpr const char* kSpace = " \t\"";
  const size_t begin = text.find_first_not_of(kSpace);
  return begin == std::string::npos ? "" : text.substr(begin, text.find_last_not_of(kSpace) + 1 - begin);
}

}  // namespace

void RowNames::add(const std::string& name, size_t rows) {
  const std::optional<size_t> place = rows == 1 ? std::optional(samples_.size()) : std::nullopt;
  for (const std::string& key : {name, without_sample_suffix(name), last_part(name)}) {
    const auto [found, is_new] = by_name_.emplace(key, place);
    if (!is_new && found->second != place) found->second.reset();
  }
  samples_.resize(samples_.size() + rows, count_++);
}

Result<size_t> RowNames::find(const std::string& text, const std::string& place) const {
  for (const std::string& key : {text, without_sample_suffix(text)}) {
    const auto found = by_name_.find(key);
    if (found == by_name_.end()) continue;
    if (found->second) return *found->second;
    return bad_data(place, ": '", text, "' has several rows of results; use their numbers, from 0");
  }
  const std::optional<size_t> row = row_number(text);
  if (row && *row < size()) return *row;
  return bad_data(place, ": '", text, "' is neither a sample nor the number of one of ", size(), " rows of results");
}

Result<std::vector<Relation>> read_relations(const std::string& path, const RelationForm& form) {
  QQ_TRY(const std::vector<std::string> lines, read_lines(path));
  std::vector<Relation> relations;
  for (size_t i = 0; i < lines.size(); ++i) {
    if (trimmed_cell(lines[i]).empty()) continue;
    std::vector<std::string> cells = split(lines[i], ',');
    for (std::string& cell : cells) cell = trimmed_cell(cell);
    Relation one{{}, {}, cat(path, ":", i + 1)};
    bool is_whole = cells.size() >= form.rows + form.numbers;
    for (size_t c = 0; c < cells.size() && is_whole; ++c) {
      if (c < form.rows) {
        one.rows.push_back(cells[c]);
        continue;
      }
      const std::optional<double> value = parse_finite(cells[c]);
      is_whole = value.has_value();
      if (is_whole) one.numbers.push_back(*value);
    }
    if (!is_whole && i == 0 && cells.size() > 1) continue;  // a header
    if (!is_whole) return bad_data(one.place, ": found \"", lines[i].substr(0, 80), "\", allowed is ", form.allowed);
    if (one.numbers.empty()) one.numbers.push_back(1);
    relations.push_back(std::move(one));
  }
  if (relations.empty()) return bad_data(path, ": contains no lines ", form.allowed);
  return relations;
}

}  // namespace quarkq::metrics

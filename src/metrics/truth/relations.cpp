// SPDX-License-Identifier: MIT
#include "metrics/truth/relations.h"

#include <algorithm>
#include <charconv>
#include <utility>

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
    return bad_data(place, ": '", excerpt(text), "' has several rows of results; use their numbers, from 0");
  }
  const std::optional<size_t> row = row_number(text);
  if (row && *row < size()) return *row;
  return bad_data(place, ": '", excerpt(text), "' is neither a sample nor the number of one of ", size(),
                  " rows of results");
}

namespace {

/// Whether `text` is a word rather than a number, an empty cell, NaN or infinity.
bool is_word(const std::string& text) {
  const size_t begin = text.find_first_not_of("+-");
  if (begin == std::string::npos || std::string_view("0123456789.").find(text[begin]) != std::string_view::npos)
    return false;
  const std::string word = lower_case(std::string_view(text).substr(begin));
  return word != "nan" && word != "inf" && word != "infinity";
}

bool is_header(const std::vector<std::string>& cells, const RelationForm& form) {
  return cells.size() > form.rows && is_word(cells[form.rows]);
}

Result<Relation> read_relation(const std::vector<std::string>& cells, const RelationForm& form,
                               const std::string& place, const std::string& line) {
  const auto refused = [&] { return bad_data(place, ": found \"", excerpt(line), "\", allowed is ", form.allowed); };
  if (cells.size() < form.rows + form.numbers || cells.size() > form.rows + std::max<size_t>(1, form.numbers))
    return refused();
  const auto numbers = cells.begin() + static_cast<std::ptrdiff_t>(form.rows);
  Relation one{{cells.begin(), numbers}, {}, place};
  for (auto cell = numbers; cell != cells.end(); ++cell) {
    const std::optional<double> value = parse_finite(*cell);
    if (!value) return refused();
    if (*value < form.least || *value > form.most)
      return bad_data(place, ": found ", *value, ", allowed are numbers from ", form.least, " to ", form.most);
    one.numbers.push_back(*value);
  }
  if (one.numbers.empty()) one.numbers.push_back(1);
  return one;
}

}  // namespace

Result<std::vector<Relation>> read_relations(const std::string& path, const RelationForm& form) {
  QQ_TRY(const std::vector<std::string> lines, read_lines(path));
  std::vector<Relation> relations;
  bool is_first = true;
  for (size_t i = 0; i < lines.size(); ++i) {
    if (trimmed_cell(lines[i]).empty()) continue;
    std::vector<std::string> cells = split(lines[i], ',');
    for (std::string& cell : cells) cell = trimmed_cell(cell);
    if (std::exchange(is_first, false) && is_header(cells, form)) continue;
    QQ_TRY(Relation one, read_relation(cells, form, cat(path, ":", i + 1), lines[i]));
    relations.push_back(std::move(one));
  }
  if (relations.empty()) return bad_data(path, ": contains no lines ", form.allowed);
  return relations;
}

}  // namespace quarkq::metrics

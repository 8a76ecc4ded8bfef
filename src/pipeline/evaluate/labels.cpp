// SPDX-License-Identifier: MIT
#include "pipeline/evaluate/labels.h"

#include <algorithm>
#include <charconv>

#include "base/file_system.h"
#include "calib/npy.h"

namespace quarkq::pipeline {
namespace {

using Cells = std::vector<std::string>;

std::string trimmed(std::string_view text) {
  constexpr const char* kSpace = " \t\r\"";
  const size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return "";
  return std::string(text.substr(begin, text.find_last_not_of(kSpace) + 1 - begin));
}

std::optional<int64_t> integer(const std::string& text) {
  int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && stopped == end && !text.empty() ? std::optional(value) : std::nullopt;
}

/// "name,label,...", "name label" or "label".
Cells cells_of(const std::string& line) {
  Cells cells;
  if (line.find(',') != std::string::npos) {
    for (const std::string& cell : split(line, ',')) cells.push_back(trimmed(cell));
    return cells;
  }
  const std::string text = trimmed(line);
  const size_t space = text.find_last_of(" \t");
  if (space == std::string::npos) return {text};
  return {trimmed(text.substr(0, space)), text.substr(space + 1)};
}

/// Which cell of a header is the label's; the second, or the only one, when none is called so.
size_t label_column(const Cells& header) {
  for (size_t i = 0; i < header.size(); ++i) {
    std::string name = header[i];
    std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
    if (name == "label" || name == "class") return i;
  }
  return std::min(header.size() - 1, size_t{1});
}

/// Without the suffix of the file's name.
std::string without_suffix(const std::string& path) {
  const size_t dot = path.rfind('.');
  const size_t name = path.rfind('/') == std::string::npos ? 0 : path.rfind('/') + 1;
  return dot == std::string::npos || dot <= name ? path : path.substr(0, dot);
}

std::string last_part(const std::string& path) { return path.substr(path.rfind('/') + 1); }

}  // namespace

Result<std::vector<Labels::Row>> Labels::read_rows(const std::string& path) {
  Result<std::string> text = read_text_file(path);
  if (!text.ok()) return bad_data(text.status().message());
  std::vector<Row> rows;
  size_t column = 0, width = 0, number = 0;
  for (const std::string& line : split(text.value(), '\n')) {
    ++number;
    if (trimmed(line).empty()) continue;
    const Cells cells = cells_of(line);
    const bool is_first = width == 0;
    if (is_first) {
      width = cells.size();
      column = std::min(width - 1, size_t{1});
    }
    if (is_first && !integer(cells[column])) {  // a header
      column = label_column(cells);
      continue;
    }
    const std::optional<int64_t> label = column < cells.size() ? integer(cells[column]) : std::nullopt;
    if (!label || (cells.size() == 1) != (width == 1)) {
      return bad_data(path, ":", number, ": found \"", line.substr(0, 80), "\", allowed is ",
                      width == 1 ? "an integer label" : "name,label with an integer label");
    }
    rows.push_back({width == 1 ? "" : cells[0], *label});
  }
  if (rows.empty()) return bad_data(path, ": holds no labels");
  return rows;
}

void Labels::add_named(const Row& row) {
  const std::string path = without_suffix(row.name);
  values_.push_back(row.label);
  for (const std::string& key : {path, last_part(path)}) {
    const auto [place, is_new] = by_name_.emplace(key, values_.size() - 1);
    if (!is_new && place->second && values_[*place->second] != row.label) place->second.reset();
  }
}

Result<Labels> Labels::read(const std::string& path) {
  Labels labels;
  labels.path_ = path;
  if (path.ends_with(".npy")) {
    QQ_TRY(const ir::Tensor tensor, calib::read_npy(path));
    if (!is_integer(tensor.type()) || tensor.size() == 0 || tensor.rank() == 0) {
      return bad_data(path, ": holds ", name(tensor.type()), shape_text(tensor.dims()), ", integer labels are needed");
    }
    QQ_TRY(labels.values_, ir::to_int64(tensor));
    labels.rows_ = static_cast<size_t>(tensor.dims()[0]);
    return labels;
  }
  QQ_TRY(const std::vector<Row> rows, read_rows(path));
  labels.rows_ = rows.size();
  labels.is_named_ = !rows[0].name.empty();
  for (const Row& row : rows) {
    if (labels.is_named_) {
      labels.add_named(row);
    } else {
      labels.values_.push_back(row.label);
    }
  }
  return labels;
}

Status Labels::share_out(size_t results, bool is_part) {
  if (is_named_) return Status();
  if (results > 0 && is_part && rows_ > results) {
    values_.resize(values_.size() / rows_ * results);
    rows_ = results;
  }
  if (results == 0 || rows_ % results != 0) {
    return bad_data(path_, ": holds ", rows_, " labels in order, there are ", results,
                    " results; name,label lines are found by name, --labels-output chooses one of several outputs");
  }
  each_ = values_.size() / results;
  return Status();
}

Result<std::span<const int64_t>> Labels::of(size_t place, const std::string& name) const {
  if (!is_named_) return std::span(values_).subspan(place * each_, each_);
  const std::string path = without_suffix(name);
  // As it is called, too: the name of a sample has no suffix, but may have dots.
  for (const std::string& key : {path, name, last_part(path), last_part(name)}) {
    const auto found = by_name_.find(key);
    if (found != by_name_.end() && found->second) return std::span(values_).subspan(*found->second, 1);
  }
  return bad_data("no label in ", path_, ", or several that differ");
}

}  // namespace quarkq::pipeline

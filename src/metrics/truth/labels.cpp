// SPDX-License-Identifier: MIT
#include "metrics/truth/labels.h"

#include <algorithm>
#include <charconv>

#include "base/file_system.h"
#include "base/parse_text.h"
#include "calib/npy.h"
#include "metrics/truth/sample_names.h"

namespace quarkq::metrics {

Result<std::vector<std::string>> read_lines(const std::string& path) {
  if (is_folder(path)) return bad_data(path, ": is a folder, needed is a text file");
  const Result<std::string> text = read_text_file(path);
  if (!text.ok()) return bad_data(text.status().message());
  if (text.value().find('\0') != std::string::npos) return bad_data(path, ": is a binary file, needed is a text file");
  std::vector<std::string> lines = split(text.value(), '\n');
  for (std::string& line : lines) {
    if (line.ends_with('\r')) line.pop_back();
  }
  if (!lines.empty() && lines.back().empty()) lines.pop_back();
  return lines;
}

Result<Texts> Texts::read(const std::string& path) {
  Texts texts;
  texts.path_ = path;
  QQ_TRY(const std::vector<std::string> lines, read_lines(path));
  for (size_t i = 0; i < lines.size(); ++i) {
    const std::string& line = lines[i];
    if (line.empty()) continue;
    const size_t tab = line.find('\t'), end = tab != std::string::npos ? tab : line.find(',');
    if (end == std::string::npos || end == 0) {
      return bad_data(path, ":", i + 1, ": found \"", excerpt(line), "\", allowed is name<TAB>text or name,text");
    }
    texts.names_.add(line.substr(0, end), texts.texts_.size());
    texts.texts_.push_back(line.substr(end + 1));
  }
  if (texts.texts_.empty()) return bad_data(path, ": contains no texts");
  return texts;
}

Result<std::string> Texts::of(const std::string& name) const {
  QQ_TRY(const size_t place, names_.find(path_, name));
  return texts_[place];
}

namespace {

using Cells = std::vector<std::string>;

std::string trimmed(std::string_view text) {
  constexpr const char* kSpace = " \t\r";
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

/// Cells between commas, quoted ones (RFC 4180) without their quotes. Nothing when a quote stays open.
std::optional<Cells> comma_cells(std::string_view line) {
  Cells cells(1);
  bool is_quoted = false;
  for (size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    const bool is_quote = c == '"' && (is_quoted || trimmed(cells.back()).empty());
    if (is_quoted && is_quote && i + 1 < line.size() && line[i + 1] == '"') {
      cells.back() += line[++i];  // two stand for one
    } else if (is_quote) {
      is_quoted = !is_quoted;
    } else if (c == ',' && !is_quoted) {
      cells.emplace_back();
    } else {
      cells.back() += c;
    }
  }
  if (is_quoted) return std::nullopt;
  for (std::string& cell : cells) cell = trimmed(cell);
  return cells;
}

/// "name,label,...", "name label" or "label".
std::optional<Cells> cells_of(const std::string& line) {
  std::optional<Cells> cells = comma_cells(line);
  if (!cells || cells->size() > 1) return cells;
  const std::string& text = (*cells)[0];
  const size_t space = text.find_last_of(" \t");
  if (space == std::string::npos) return cells;
  return Cells{trimmed(text.substr(0, space)), text.substr(space + 1)};
}

bool is_label_header(const std::string& cell) {
  const std::string name = lower_case(cell);
  return name == "label" || name == "class";
}

/// Which cell of a first line without label is the label's; the second when none is called so. Nothing when it cannot
/// be a header: one cell is a header only by name, anything else would shift all labels.
std::optional<size_t> label_column(const Cells& header) {
  const auto named = std::ranges::find_if(header, is_label_header);
  if (named != header.end()) return static_cast<size_t>(named - header.begin());
  return header.size() > 1 ? std::optional<size_t>(1) : std::nullopt;
}

}  // namespace

Result<std::vector<Labels::Row>> Labels::read_rows(const std::string& path) {
  QQ_TRY(const std::vector<std::string> lines, read_lines(path));
  std::vector<Row> rows;
  size_t column = 0, width = 0, number = 0;
  for (const std::string& line : lines) {
    ++number;
    if (trimmed(line).empty()) continue;
    const std::optional<Cells> cells = cells_of(line);
    if (cells && width == 0) {
      width = cells->size();
      column = std::min(width - 1, size_t{1});
      const std::optional<size_t> named = integer((*cells)[column]) ? std::nullopt : label_column(*cells);
      column = named.value_or(column);
      if (named) continue;  // a header
    }
    const std::optional<int64_t> label = cells && column < cells->size() ? integer((*cells)[column]) : std::nullopt;
    if (!label || (cells->size() == 1) != (width == 1)) {
      return bad_data(path, ":", number, ": found \"", excerpt(line), "\", allowed is ",
                      width == 1 ? "an integer label" : "name,label with an integer label",
                      number == 1 && width == 1 ? ", or the header \"label\" or \"class\"" : "");
    }
    rows.push_back({width == 1 ? "" : (*cells)[0], *label});
  }
  if (rows.empty()) return bad_data(path, ": contains no labels");
  return rows;
}

Result<std::vector<Labels::Row>> Labels::rows_of_folders(const std::string& path) {
  QQ_TRY(std::vector<std::string> classes, list_folders(path));
  std::erase_if(classes, [](const std::string& name) { return name.starts_with('.'); });
  std::sort(classes.begin(), classes.end());
  const std::string list = path + "/classes.txt";
  std::vector<std::string> order = classes;
  if (file_exists(list)) {
    QQ_TRY(order, read_lines(list));
  }
  std::vector<Row> rows;
  for (const std::string& name : classes) {
    const auto place = std::ranges::find(order, name);
    if (place == order.end()) return bad_data(list, ": does not name the class of folder ", name);
    QQ_TRY(const std::vector<std::string> files, list_files(cat(path, "/", name), ""));
    for (const std::string& file : files) rows.push_back({cat(name, "/", file), place - order.begin()});
  }
  if (rows.empty()) return bad_data(path, ": contains no class folders with samples, allowed is ", path, "/<class>/*");
  return rows;
}

void Labels::add_named(const Row& row) {
  values_.push_back(row.label);
  const auto add = [&](const std::string& key, Names& names) {
    const auto [place, is_new] = names.emplace(key, values_.size() - 1);
    if (!is_new && place->second && values_[*place->second] != row.label) place->second.reset();
  };
  add(row.name, by_name_);
  const std::string path = without_sample_suffix(row.name);
  for (const std::string& key : {path, last_part(row.name), last_part(path)}) {
    if (key != row.name) add(key, by_short_name_);
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
  QQ_TRY(const std::vector<Row> rows, is_folder(path) ? rows_of_folders(path) : read_rows(path));
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

std::string Labels::hint_for(const std::string& name) const {
  const size_t end = name.find_last_not_of("0123456789");
  if (end == std::string::npos || end + 1 == name.size() || name[end] != '_') return "";
  const std::string batch = name.substr(0, end);
  for (const std::string& key : {batch, last_part(batch)}) {
    if (by_name_.contains(key) || by_short_name_.contains(key))
      return cat("; it has one for ", batch, ", whose rows are samples of their own: give each row a label, ", batch,
                 "_0, ", batch, "_1 and so on");
  }
  return "";
}

Result<std::span<const int64_t>> Labels::of(size_t place, const std::string& name) const {
  if (!is_named_) return std::span(values_).subspan(place * each_, each_);
  const std::string path = without_sample_suffix(name);
  for (const std::string& key : {name, path, last_part(name), last_part(path)}) {
    for (const Names* names : {&by_name_, &by_short_name_}) {
      const auto found = names->find(key);
      if (found == names->end()) continue;
      if (found->second) return std::span(values_).subspan(*found->second, 1);
      return bad_data("several labels in ", path_, " that differ");
    }
  }
  return bad_data("no label in ", path_, hint_for(name));
}

}  // namespace quarkq::metrics

// SPDX-License-Identifier: MIT
#include "metrics/truth/texts.h"

#include "base/file_system.h"

namespace quarkq::metrics {

Result<std::vector<std::string>> read_lines(const std::string& path) {
  const Result<std::string> text = read_text_file(path);
  if (!text.ok()) return bad_data(text.status().message());
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
      return bad_data(path, ":", i + 1, ": found \"", line.substr(0, 80), "\", allowed is name<TAB>text or name,text");
    }
    texts.names_.add(line.substr(0, end), texts.texts_.size());
    texts.texts_.push_back(line.substr(end + 1));
  }
  if (texts.texts_.empty()) return bad_data(path, ": holds no texts");
  return texts;
}

Result<std::string> Texts::of(const std::string& name) const {
  QQ_TRY(const size_t place, names_.find(path_, name));
  return texts_[place];
}

}  // namespace quarkq::metrics

// SPDX-License-Identifier: MIT
#include "metrics/edit_distance.h"

#include <algorithm>
#include <numeric>

namespace quarkq::metrics {

Parts characters_of(std::string_view text) {
  const auto goes_on = [&](size_t at) { return (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80; };
  Parts parts;
  for (size_t begin = 0, end = 0; begin < text.size(); begin = end) {
    ++end;
    while (end < text.size() && goes_on(end)) ++end;
    parts.push_back(text.substr(begin, end - begin));
  }
  return parts;
}

Parts words_of(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n\f\v";
  Parts parts;
  for (size_t begin = text.find_first_not_of(kBlanks); begin != std::string_view::npos;) {
    const size_t end = std::min(text.find_first_of(kBlanks, begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = text.find_first_not_of(kBlanks, end);
  }
  return parts;
}

size_t edits_between(std::span<const std::string_view> a, std::span<const std::string_view> b) {
  std::vector<size_t> row(b.size() + 1);  // from the parts of `a` so far to the first parts of `b`
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

}  // namespace quarkq::metrics

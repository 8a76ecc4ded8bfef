// SPDX-License-Identifier: MIT
#include "base/parse_text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>

#include "base/strings.h"

namespace quarkq {
namespace {

/// Returns the number of bytes of the UTF-8 character at the start of `text`, or 0 if none starts there.
size_t character_size(std::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  const size_t size = first < 0x80 ? 1 : first < 0xC2 ? 0 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : first < 0xF5 ? 4 : 0;
  const std::string_view rest = text.substr(0, size).substr(std::min<size_t>(size, 1));
  const bool is_whole =
      std::ranges::all_of(rest, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; });
  return is_whole && text.size() >= size ? size : 0;
}

}  // namespace

std::optional<int64_t> parse_size(std::string_view text) {
  constexpr double kMost = 1e18;  // Below the largest int64.
  constexpr std::string_view kPowers = "bkmgtpe";
  double number = 0;
  const auto [stopped, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  std::string unit = lower_case(text.substr(static_cast<size_t>(stopped - text.data())));
  unit.erase(0, unit.find_first_not_of(' '));
  const size_t power = unit.empty() ? 0 : kPowers.find(unit[0]);
  const std::string_view end = unit.empty() ? std::string_view() : std::string_view(unit).substr(1);
  const bool is_unit = power < kPowers.size() && (end.empty() || (power > 0 && (end == "b" || end == "ib")));
  const double bytes = is_unit ? std::ldexp(number, 10 * static_cast<int>(power)) : 0;
  if (error != std::errc() || !(bytes >= 1) || bytes > kMost) return std::nullopt;
  return static_cast<int64_t>(bytes);
}

std::string excerpt(std::string_view text) {
  constexpr size_t kMost = 60;  // Columns of a message that a quoted line may fill.
  std::string shown;
  size_t at = 0;
  while (at < text.size() && shown.size() < kMost) {
    const std::string_view rest = text.substr(at);
    const size_t size = character_size(rest);
    char escaped[8];
    std::snprintf(escaped, sizeof escaped, "\\x%02x", static_cast<unsigned>(static_cast<unsigned char>(rest[0])));
    shown += size == 0 ? std::string(escaped) : printable(rest.substr(0, size));
    at += std::max<size_t>(size, 1);
  }
  return at < text.size() ? shown + "..." : shown;
}

Result<std::vector<std::string>> quoted_words(std::string_view line) {
  std::vector<std::string> words;
  std::string word;
  bool in_word = false;
  char quote = 0;
  for (const char c : line) {
    if (quote != 0) {
      if (c == quote) quote = 0;
      if (quote != 0) word += c;
    } else if (c == '"' || c == '\'') {
      quote = c;
      in_word = true;
    } else if (c == ' ' || c == '\t' || c == '\r') {
      if (in_word) words.push_back(std::move(word));
      word.clear();
      in_word = false;
    } else if (c == '#' && !in_word) {
      break;
    } else if (static_cast<unsigned char>(c) < 32) {
      return bad_data("contains control characters, a text is needed");
    } else {
      word += c;
      in_word = true;
    }
  }
  if (quote != 0) return bad_data("a quote ", quote, " without its end");
  if (in_word) words.push_back(std::move(word));
  return words;
}

}  // namespace quarkq

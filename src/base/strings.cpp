// SPDX-License-Identifier: MIT
#include "base/strings.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <numeric>

namespace quarkq {

namespace {

constexpr int kSignificantDigits = 6;
constexpr size_t kLongestNumber = 32;  ///< characters of an integer of 64 bits, or of six digits with an exponent

template <typename T, typename... Format>
void append_number(std::string& text, T number, Format... format) {
  char digits[kLongestNumber];
  const std::to_chars_result end = std::to_chars(digits, digits + kLongestNumber, number, format...);
  text.append(digits, end.ptr);
}

}  // namespace

void TextPart::append_to(std::string& text) const {
  switch (kind_) {
    case Kind::kText: text += value_.text; return;
    case Kind::kCharacter: text += value_.character; return;
    case Kind::kReal:
      if (std::isnan(value_.real))
        text += "nan";  // whose sign is an accident of the computation
      else
        append_number(text, value_.real, std::chars_format::general, kSignificantDigits);
      return;
    case Kind::kSigned: return append_number(text, value_.integer);
    case Kind::kUnsigned: return append_number(text, value_.natural);
  }
}

std::string concatenated(std::span<const TextPart> parts) {
  std::string text;
  for (const TextPart& part : parts) part.append_to(text);
  return text;
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  size_t begin = 0;
  while (true) {
    const size_t end = text.find(separator, begin);
    parts.emplace_back(text.substr(begin, end - begin));
    if (end == std::string_view::npos) return parts;
    begin = end + 1;
  }
}

std::string lower_case(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return result;
}

std::string shape_text(const std::vector<int64_t>& dims) {
  std::vector<std::string> parts;
  parts.reserve(dims.size());
  for (const int64_t dim : dims) parts.push_back(dim < 0 ? "?" : std::to_string(dim));
  return "[" + join(parts, ",") + "]";
}

std::string bytes_text(double bytes) {
  static constexpr const char* kUnits[] = {"B", "kB", "MB", "GB", "TB"};
  int unit = 0;
  // A value that would print as 1000 uses the next unit.
  for (; bytes >= (unit == 0 ? 999.5 : 999.95) && unit < 4; ++unit) bytes /= 1000;
  char text[32];
  std::snprintf(text, sizeof text, unit == 0 ? "%.0f %s" : "%.1f %s", bytes, kUnits[unit]);
  return text;
}

namespace {

unsigned char byte_at(std::string_view text, size_t at) {
  return at < text.size() ? static_cast<unsigned char>(text[at]) : '\0';
}

void append_code(std::string& text, const char* format, unsigned code) {
  char escaped[16];
  std::snprintf(escaped, sizeof escaped, format, code);
  text += escaped;
}

/// Returns the character in U+2000 to U+207F that begins at `at`, else 0. Its three bytes are E2 80 or 81, then 80 to
/// BF.
unsigned punctuation_at(std::string_view text, size_t at) {
  const unsigned second = byte_at(text, at + 1), third = byte_at(text, at + 2);
  const bool is_in_block = byte_at(text, at) == 0xE2 && (second == 0x80 || second == 0x81) && (third & 0xC0) == 0x80;
  return is_in_block ? 0x2000 + (second - 0x80) * 0x40 + (third - 0x80) : 0;
}

bool breaks_or_turns_lines(unsigned character) {
  return (character >= 0x2028 && character <= 0x202E) || (character >= 0x2066 && character <= 0x2069);
}

}  // namespace

std::string printable(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    const unsigned c = byte_at(text, i);
    if (c < 0x20 || c == 0x7F) {
      append_code(result, "\\x%02x", c);
    } else if (const unsigned next = byte_at(text, i + 1); c == 0xC2 && next >= 0x80 && next < 0xA0) {
      append_code(result, "\\x%02x", next);  // U+0080 to U+009F: further controls
      ++i;
    } else if (const unsigned character = punctuation_at(text, i); breaks_or_turns_lines(character)) {
      append_code(result, "\\u%04x", character);
      i += 2;
    } else {
      result += text[i];
    }
  }
  return result;
}

namespace {

/// Levenshtein distance, by rows.
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t substitute = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substitute});
    }
  }
  return row.back();
}

}  // namespace

std::string nearest_name(std::string_view name, const std::vector<std::string>& candidates) {
  const std::string wanted = lower_case(name);
  std::string best;
  size_t best_distance = name.size() / 3 + 2;  // names that differ by more than a third are unrelated
  for (const std::string& candidate : candidates) {
    const size_t distance = edit_distance(wanted, lower_case(candidate));
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

std::string did_you_mean(std::string_view name, const std::vector<std::string>& candidates) {
  const std::string best = nearest_name(name, candidates);
  return best.empty() ? "" : ", did you mean " + best + "?";
}

}  // namespace quarkq

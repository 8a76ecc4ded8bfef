// SPDX-License-Identifier: MIT
#include "base/strings.h"

#include <charconv>
#include <cmath>
#include <cstdio>

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

std::string shape_text(const std::vector<long>& dims) {
  std::vector<std::string> parts;
  parts.reserve(dims.size());
  for (const long dim : dims) parts.push_back(dim < 0 ? "?" : std::to_string(dim));
  return "[" + join(parts, ",") + "]";
}

std::string bytes_text(double bytes) {
  static constexpr const char* kUnits[] = {"B", "kB", "MB", "GB", "TB"};
  int unit = 0;
  // What would be printed as 1000 has the next unit.
  for (; bytes >= (unit == 0 ? 999.5 : 999.95) && unit < 4; ++unit) bytes /= 1000;
  char text[32];
  std::snprintf(text, sizeof text, unit == 0 ? "%.0f %s" : "%.1f %s", bytes, kUnits[unit]);
  return text;
}

}  // namespace quarkq

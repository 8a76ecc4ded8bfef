// SPDX-License-Identifier: MIT
#include "base/printable.h"

#include <cstdio>

namespace quarkq {
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

}  // namespace quarkq

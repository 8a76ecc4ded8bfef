// SPDX-License-Identifier: MIT
// Small text helpers for messages and names. Messages are built only with cat().
#pragma once

#include <concepts>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace quarkq {

/// One argument of cat(). All types are converted to five kinds, so that one function builds messages instead of one
/// instantiation per combination of types, which made up a twelfth of the program.
class TextPart {
 public:
  TextPart(std::string_view text) : kind_(Kind::kText), value_{.text = text} {}
  TextPart(const std::string& text) : TextPart(std::string_view(text)) {}
  /// A null pointer prints as an empty text.
  TextPart(const char* text) : TextPart(text == nullptr ? std::string_view() : std::string_view(text)) {}
  TextPart(char character) : kind_(Kind::kCharacter), value_{.character = character} {}
  TextPart(double number) : kind_(Kind::kReal), value_{.real = number} {}
  template <std::signed_integral T>
  requires(!std::same_as<T, char>) TextPart(T number) : kind_(Kind::kSigned), value_{.integer = number} {}
  template <std::unsigned_integral T>
  TextPart(T number) : kind_(Kind::kUnsigned), value_{.natural = number} {}

  void append_to(std::string& text) const;

 private:
  enum class Kind : uint8_t { kText, kCharacter, kReal, kSigned, kUnsigned };
  union Value {
    std::string_view text;
    char character;
    double real;
    int64_t integer;
    uint64_t natural;
  };
  Kind kind_;
  Value value_;
};

std::string concatenated(std::span<const TextPart> parts);

/// Returns the concatenated arguments: texts and characters unchanged, integers in decimal, real numbers with six
/// significant digits, true and false as 1 and 0.
template <typename... Args>
std::string cat(const Args&... args) {
  const TextPart parts[] = {TextPart(args)...};
  return concatenated(parts);
}

std::vector<std::string> split(std::string_view text, char separator);

/// Returns the parts, each printed as by cat(), with `separator` between them.
template <typename Range>
std::string join(const Range& parts, std::string_view separator) {
  std::string text;
  bool first = true;
  for (const auto& part : parts) {
    if (!first) text += separator;
    TextPart(part).append_to(text);
    first = false;
  }
  return text;
}

/// Returns ASCII letters in lower case, independent of the locale; other characters unchanged.
std::string lower_case(std::string_view text);

/// Returns dimensions as "[1,3,224,224]". Negative dimensions print as "?".
std::string shape_text(const std::vector<int64_t>& dims);

/// Returns `bytes` in readable form: "812 B", "3.4 MB" (powers of 1000).
std::string bytes_text(double bytes);

/// Returns `text` on one line without characters that control a terminal, a log or the writing direction: controls,
/// line breaks and tabs become "\x0a" and the like; U+2028, U+2029, U+202A to U+202E and U+2066 to U+2069 become
/// "\u202e" and the like. Names come from untrusted files: escape them before the program adds its own line breaks.
std::string printable(std::string_view text);

/// Returns the candidate with the smallest edit distance to `name`, ignoring case, or an empty string if none is close
/// enough.
std::string nearest_name(std::string_view name, const std::vector<std::string>& candidates);

/// Returns ", did you mean X?" for the nearest candidate, or an empty string.
std::string did_you_mean(std::string_view name, const std::vector<std::string>& candidates);

}  // namespace quarkq

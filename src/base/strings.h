// SPDX-License-Identifier: MIT
// Small text helpers used for messages and names. cat() is the only way messages are put together.
#pragma once

#include <concepts>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace quarkq {

/// One argument of cat(). All types become one of five kinds, so that a message is put together by one function and not
/// by one for each combination of types: these were a twelfth of the program.
class TextPart {
 public:
  TextPart(std::string_view text) : kind_(Kind::kText), value_{.text = text} {}
  TextPart(const std::string& text) : TextPart(std::string_view(text)) {}
  /// A null pointer prints nothing.
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

/// The arguments one after the other: texts and characters as they are, integers in decimal, real numbers with six
/// significant digits, true and false as 1 and 0.
template <typename... Args>
std::string cat(const Args&... args) {
  const TextPart parts[] = {TextPart(args)...};
  return concatenated(parts);
}

std::vector<std::string> split(std::string_view text, char separator);

/// The parts, each as cat() prints it, with `separator` between them.
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

/// Letters of ASCII in lower case, whatever the locale; everything else as it is.
std::string lower_case(std::string_view text);

/// Dimensions as "[1,3,224,224]"; negative ones print as "?".
std::string shape_text(const std::vector<long>& dims);

/// `bytes` for people: "812 B", "3.4 MB" (powers of 1000).
std::string bytes_text(double bytes);

// Names from files inside sentences, tables and dumps.

/// Returns `text` on one line without characters that control a terminal, a log or the direction of writing: controls,
/// line breaks and tabs become "\x0a" and the like, U+2028, U+2029, U+202A to U+202E and U+2066 to U+2069 become
/// "\u202e" and the like. Names are a stranger's text: escape them before the program adds line breaks of its own.
std::string printable(std::string_view text);

// "did you mean ...?": the nearest known name for a misspelt one.

/// The candidate with the smallest edit distance to `name` (case ignored), or "" when none is close enough.
std::string nearest_name(std::string_view name, const std::vector<std::string>& candidates);

/// ", did you mean X?" for the nearest candidate, or "".
std::string did_you_mean(std::string_view name, const std::vector<std::string>& candidates);

}  // namespace quarkq

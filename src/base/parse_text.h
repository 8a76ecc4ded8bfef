// SPDX-License-Identifier: MIT
#pragma once

#include <charconv>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace quarkq {

/// Returns the finite number that `text` consists of, without blanks or a leading +. Returns nullopt for any other
/// text.
inline std::optional<double> parse_finite(std::string_view text) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && stopped == end && std::isfinite(value) ? std::optional(value) : std::nullopt;
}

/// Examples of what parse_size() accepts, for messages.
inline constexpr const char* kAllowedSizes = "allowed are sizes such as 300K, 800M or 1.5G";

/// Returns the number of bytes of a size such as "800M", "1.5g", "26 kB" or "1GiB" (powers of 1024). Returns nullopt
/// for other texts and below 1 byte.
std::optional<int64_t> parse_size(std::string_view text);

// Lines of list files: words between spaces, quotes that keep spaces, comments from '#' on.

/// Returns the words of a line. A quote may begin anywhere in a word: name="a b.npy". Fails with kBadData for control
/// characters and for a quote without its end.
Result<std::vector<std::string>> quoted_words(std::string_view line);

/// Returns the first bytes of `text` as a message quotes a line of a file: on one line by printable(), with "..." if it
/// is longer, and with bytes that are not UTF-8 as "\xff".
std::string excerpt(std::string_view text);

/// Upper bound on the nesting of lists and maps around a value in a JSON text. Copying, writing and destroying a tree
/// need stack per level. The files that are read have at most 8 levels.
inline constexpr int kMostJsonLevels = 64;

/// Returns whether the JSON text `text` nests more than `levels` lists and maps. Accepts arbitrary bytes.
inline bool is_nested_deeper(std::string_view text, int levels) {
  int level = 0;
  bool is_in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"') {
      is_in_string = !is_in_string;
    } else if (is_in_string) {
      i += c == '\\' ? 1 : 0;
    } else if (c == '[' || c == '{') {
      if (++level > levels) return true;
    } else if (c == ']' || c == '}') {
      --level;
    }
  }
  return false;
}

/// A place in a text, counted from 1.
struct TextPlace {
  size_t line = 1, column = 1;
};

/// Returns the place of the byte at `offset`, or of the end of the text.
inline TextPlace place_of(std::string_view text, size_t offset) {
  TextPlace place;
  for (const char c : text.substr(0, offset)) {
    place.line += c == '\n' ? 1 : 0;
    place.column = c == '\n' ? 1 : place.column + 1;
  }
  return place;
}

/// Returns the offset at which `text` stops being JSON of nlohmann's type `Json`: its size if it ends early. Returns
/// npos if a number exceeds its range. REQUIRES: parse_json() returned a discarded value, and the text is not nested
/// deeper than kMostJsonLevels.
template <class Json>
size_t json_fault(std::string_view text) {
  try {
    if (Json::parse(text).is_discarded()) return 0;
  } catch (const typename Json::parse_error& error) {
    return error.byte == 0 ? 0 : error.byte - 1;
  } catch (const typename Json::exception&) {
    return std::string_view::npos;
  }
  return std::string_view::npos;
}

/// Parses `text` to a tree of nlohmann's type `Json`. Returns a discarded value if it is not JSON or is nested deeper
/// than kMostJsonLevels.
template <class Json>
Json parse_json(std::string_view text) {
  if (is_nested_deeper(text, kMostJsonLevels)) return Json(Json::value_t::discarded);
  return Json::parse(text, nullptr, /*allow_exceptions=*/false);
}

}  // namespace quarkq

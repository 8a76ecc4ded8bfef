// SPDX-License-Identifier: MIT
// Spoils texts of words, numbers and nested blocks (YAML, JSON) where their readers look: a byte flip mostly ends in
// the parser.
#include <algorithm>
#include <random>

#include "fuzz/sample_files.h"

namespace quarkq::fuzz {
namespace {

constexpr const char* kValues[] = {"",
                                   "0",
                                   "-1",
                                   "1",
                                   "2",
                                   "255",
                                   "1e308",
                                   "-1e-320",
                                   ".inf",
                                   ".nan",
                                   "NaN",
                                   "9223372036854775807",
                                   "-9223372036854775808",
                                   "18446744073709551616",
                                   "1000000000000000000000000000000",
                                   "true",
                                   "false",
                                   "null",
                                   "~",
                                   "[]",
                                   "{}",
                                   "[[]]",
                                   "[1, 2, 3]",
                                   "{a: 1}",
                                   "\"\"",
                                   "\"\\u0000\"",
                                   "'a b'",
                                   "&a [1]",
                                   "*a",
                                   "!!binary x",
                                   "? x",
                                   "/dev/null",
                                   "../../x",
                                   "^(a*)*$.*",
                                   "Int8",
                                   "Conv"};

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '-'; }

class TextMutator {
 public:
  explicit TextMutator(uint32_t seed) : random_(seed) {}

  void spoil(std::string& text) {
    switch (below(8)) {
      case 0: return replace_line(text, "");
      case 1: return replace_line(text, line_of(text, below(text.size())) + line_of(text, below(text.size())));
      case 2: return indent(text);
      case 3: return nest(text);
      default: return replace_word(text);
    }
  }
  size_t below(size_t count) { return count == 0 ? 0 : random_() % count; }

 private:
  static size_t begin_of(const std::string& text, size_t at) {
    const size_t found = at == 0 ? std::string::npos : text.rfind('\n', at - 1);
    return found == std::string::npos ? 0 : found + 1;
  }
  static size_t end_of(const std::string& text, size_t at) {
    return std::min(text.find('\n', at), text.size() - 1) + 1;
  }
  static std::string line_of(const std::string& text, size_t at) {
    const size_t begin = begin_of(text, at);
    return text.substr(begin, end_of(text, at) - begin);
  }

  void replace_line(std::string& text, const std::string& by) {
    const size_t at = below(text.size()), begin = begin_of(text, at);
    text.replace(begin, end_of(text, at) - begin, by);
  }
  void indent(std::string& text) { text.insert(begin_of(text, below(text.size())), 1 + below(4), ' '); }

  /// A word or number by an edge case, or by another word of the text.
  void replace_word(std::string& text) {
    const auto [begin, size] = word_at(text, below(text.size()));
    std::string by = kValues[below(std::size(kValues))];
    if (below(3) == 0) {
      const auto [from, length] = word_at(text, below(text.size()));
      by = text.substr(from, length);
    }
    text.replace(begin, size, by);
  }
  static std::pair<size_t, size_t> word_at(const std::string& text, size_t at) {
    while (at + 1 < text.size() && !is_word(text[at])) ++at;
    size_t begin = at, end = at;
    while (begin > 0 && is_word(text[begin - 1])) --begin;
    while (end < text.size() && is_word(text[end])) ++end;
    return {begin, end - begin};
  }

  /// Brackets around or instead of a word, few or very many.
  void nest(std::string& text) {
    const size_t depth = below(4) == 0 ? 200 + below(20000) : 1 + below(4);
    const bool is_map = below(2) == 0;
    std::string open, close;
    for (size_t i = 0; i < depth; ++i) {
      open += is_map ? "{\"a\": " : "[";
      close += is_map ? '}' : ']';
    }
    const auto [begin, size] = word_at(text, below(text.size()));
    text.replace(begin, size, open + text.substr(begin, size) + (below(4) == 0 ? "" : close));
  }

  std::mt19937 random_;
};

}  // namespace

std::string mutate_text(const uint8_t* data, size_t size, uint32_t seed) {
  TextMutator mutator(seed);
  if (mutator.below(5) == 0) return mutate_bytes(data, size, seed);
  std::string text(reinterpret_cast<const char*>(data), size);
  for (size_t changes = 1 + mutator.below(3); changes > 0 && !text.empty(); --changes) mutator.spoil(text);
  return text;
}

}  // namespace quarkq::fuzz
